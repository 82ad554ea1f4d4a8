// The programs of all roles with what each instruction takes on a cluster.
#ifndef ZC_RUNTIME_SIMULATE_TIMEDPROGRAMS_H
#define ZC_RUNTIME_SIMULATE_TIMEDPROGRAMS_H

#include "runtime/Plan/Mesh.h"
#include "runtime/Simulate/Cluster.h"
#include "runtime/Simulate/CollectiveTimes.h"

#include <map>
#include <string>
#include <vector>

namespace zc {

constexpr size_t kSimulatedStreams = 3; // main, collectives, copies

struct TimedInstruction {
  uint32_t stream = 0;
  double seconds = 0;       // of what is no collective
  bool isCollective = false;
  TransferCost cost;        // of a collective
  int meeting = -1;         // of several roles: which one; -1: of one role
  int exposure = -1;        // index of the name that waiting for it has
  double flops = 0;
  int kind = 0; // as plan::Instruction numbers it
};

struct TimedProgram {
  const plan::Program *program = nullptr;
  std::vector<TimedInstruction> instructions;
  std::vector<uint32_t> streams[kSimulatedStreams]; // indices, in order
};

class TimedPrograms {
public:
  static Result<TimedPrograms> of(const plan::Manifest &manifest,
                                  const Cluster &cluster);

  const TimedProgram &find(uint32_t role, uint32_t program) const {
    return roles[role][program];
  }
  /// The roles that meet in a collective, ascending.
  const std::vector<uint32_t> &meeting(int index) const {
    return meetings[size_t(index)];
  }
  size_t numMeetings() const { return meetings.size(); }
  const std::string &exposure(int index) const {
    return exposures[size_t(index)];
  }
  size_t numExposures() const { return exposures.size(); }

private:
  TimedInstruction time(const plan::Manifest &manifest, const Cluster &cluster,
                        const Mesh &mesh, uint32_t role,
                        const plan::Program &program,
                        const plan::Instruction &instruction);
  void timeCollective(const plan::Manifest &manifest, const Cluster &cluster,
                      const Mesh &mesh, uint32_t role,
                      const plan::Program &program,
                      const plan::CollectiveCall &call,
                      TimedInstruction &timed);
  int nameExposure(const std::string &name);

  std::vector<std::vector<TimedProgram>> roles;
  std::vector<std::vector<uint32_t>> meetings;
  std::map<std::string, int> meetingsByName;
  std::vector<std::string> exposures;
  std::map<std::string, GroupPlace> places; // by role and axes
};

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_TIMEDPROGRAMS_H
