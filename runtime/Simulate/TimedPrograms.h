// The programs of all roles with what each instruction takes on a cluster.
#ifndef ZC_RUNTIME_SIMULATE_TIMEDPROGRAMS_H
#define ZC_RUNTIME_SIMULATE_TIMEDPROGRAMS_H

#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/StreamNumbers.h"
#include "runtime/Simulate/Cluster.h"
#include "runtime/Simulate/CollectiveTimes.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zc {

constexpr size_t kSimulatedStreams = streams::kCount;

struct TimedInstruction {
  uint32_t stream = 0; // the lines of copies of a CPU are one
  double seconds = 0;  // of what is no collective
  bool isCollective = false;
  TransferCost cost; // of a collective
  // How it is computed, where the plan leaves that open.
  std::optional<CollectiveMethod> method;
  int meeting = -1;  // of several roles: which one; -1: of one role
  int exposure = -1; // index of the name that waiting for it has
  double flops = 0;
  const char *kind = ""; // see kindOf()
};

struct TimedProgram {
  const plan::Program *program = nullptr;
  std::vector<TimedInstruction> instructions;
  std::vector<uint32_t> streams[kSimulatedStreams]; // indices, in order
};

/// The ranks of a collective that a rank takes part in, in the group's order;
/// where the call has holders, of the one axis only those at these coordinates.
std::vector<int> ranksOf(const Mesh &mesh, int rank,
                         const plan::CollectiveCall &call);

class TimedPrograms {
public:
  /// `placement`: the mesh's axes, from the outermost level of the cluster
  /// inwards; empty: ranks stand on the devices as they are numbered. Fails
  /// where the cluster is too small, and where an axis is missing.
  static Result<TimedPrograms> of(const plan::Manifest &manifest,
                                  const Cluster &cluster,
                                  const std::vector<std::string> &placement);

  /// The device that the first rank of a role has.
  int firstDevice(uint32_t role) const { return firstDevices[role]; }
  /// The device of a rank of the manifest's mesh.
  int deviceOf(const Mesh &mesh, int rank) const;

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
  std::vector<int> devicesOf(const Mesh &mesh, int rank,
                             const plan::CollectiveCall &call);
  Status place(const plan::Manifest &manifest, const Mesh &mesh,
               const std::vector<std::string> &placement);

  /// An axis of the placement: neighbours along it are so many devices apart.
  struct PlacedAxis {
    std::string name;
    int64_t stride;
  };
  std::vector<PlacedAxis> placed; // empty: as ranks are numbered
  std::vector<int> firstDevices;  // of roles

  std::vector<std::vector<TimedProgram>> roles;
  std::vector<std::vector<uint32_t>> meetings;
  std::map<std::string, int> meetingsByName;
  std::vector<std::string> exposures;
  std::map<std::string, GroupPlace> places; // by role and axes
};

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_TIMEDPROGRAMS_H
