// Walks the orders of all roles of a plan in simulated time, on a described
// cluster: the same actions, programs, streams and waits as the runtime's
// OrderRunner and Executor have. All ranks of a role are equal, so that one of
// them stands for all.
#ifndef ZC_RUNTIME_SIMULATE_SIMULATION_H
#define ZC_RUNTIME_SIMULATE_SIMULATION_H

#include "runtime/Plan/Order/RoleUse.h"
#include "runtime/Simulate/Cluster.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zc {

/// An event from one time to another, in seconds from the step's begin.
struct SimulatedSpan {
  enum class Kind { Instruction, Call, Send, Receive };
  Kind kind = Kind::Instruction;
  uint32_t role = 0;
  const plan::Program *program = nullptr; // instructions and calls
  int instruction = -1;
  const plan::Message *message = nullptr; // sends and receives
  uint32_t microBatch = 0;
  double begin = 0, end = 0;
};

/// Seconds of one rank of a role.
struct SimulatedRole {
  double compute = 0;                               // the main stream computes
  std::map<std::string_view, double> computeByKind; // the same, by kindOf()
  /// The main stream waits: for collectives, by their axes ("dp", "dp+tp"), and
  /// for copies ("offload").
  std::map<std::string, double> exposed;
  double called = 0;  // programs run; compute and exposed are parts of it
  double waiting = 0; // for messages, between programs
  double end = 0;     // when it has done all
  double flops = 0;   // that it has computed
  std::vector<double> sentBytes; // by level of the cluster
  /// The bytes that would have kept a rank's share of the level's links busy as
  /// long as the busiest of them were.
  std::vector<double> busyBytes;
};

struct SimulatedOrders {
  double seconds = 0; // until the last role is done
  std::vector<SimulatedRole> roles;
  std::vector<SimulatedSpan> spans; // by their ends; only if asked for

  /// The share of all roles' time in which they run no program, and that time
  /// by the time of a perfect division of the work.
  double bubbleOfTotal() const;
  double bubbleOfIdeal() const;
};

struct SimulationOptions {
  bool keepsSpans = false;
  /// The mesh's axes from the cluster's outermost level inwards; empty: ranks
  /// stand on the devices as they are numbered.
  std::vector<std::string> placement;
  /// Ranks that take so many times as long for all that they do between
  /// transfers. Equal ranks of a role wait for them, so that their role does.
  std::map<int64_t, double> stragglers;
};

/// Simulates one phase of a verified manifest's orders. Without flush the
/// manifest is of a run of steps (unroll() of RunOfSteps.h). Fails where the
/// cluster has fewer devices than the mesh has ranks, and where a straggler is
/// no rank of it.
Result<SimulatedOrders> simulateOrders(const plan::Manifest &manifest,
                                       const Cluster &cluster, Phase phase,
                                       const SimulationOptions &options = {});

/// One step in the midst of a long run.
struct SimulatedStep {
  double seconds = 0;     // from one step to the next
  SimulatedOrders orders; // spans: of the run's first steps, where they overlap
  double bubbleOfTotal = 0, bubbleOfIdeal = 0;
  std::shared_ptr<const plan::Manifest> run; // that spans point into; or null
};
Result<SimulatedStep> simulateStep(const plan::Manifest &manifest,
                                   const Cluster &cluster,
                                   const SimulationOptions &options = {});

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_SIMULATION_H
