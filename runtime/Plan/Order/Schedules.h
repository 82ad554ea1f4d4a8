// Schedules of pipelines as data: which role computes what, in which order.
// They know stages and micro-batches, but no programs or messages;
// BuildOrders.h makes orders of them.
#ifndef ZC_RUNTIME_PLAN_ORDER_SCHEDULES_H
#define ZC_RUNTIME_PLAN_ORDER_SCHEDULES_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <vector>

namespace zc {

enum class Work : uint8_t {
  Forward,
  Backward, // with the parameters' gradients, unless the schedule splits them
            // off
  Weights,  // the parameters' gradients alone
};

struct StageWork {
  Work work;
  uint32_t stage;
  uint32_t microBatch;
};

inline bool operator==(const StageWork &a, const StageWork &b) {
  return a.work == b.work && a.stage == b.stage && a.microBatch == b.microBatch;
}

struct PipelineSchedule {
  std::vector<std::vector<StageWork>> roles; // in the order of execution
  std::vector<uint32_t> roleOfStage; // of several replicas the first one's
  // How many roles have each stage, and take micro-batches in turn; empty: one.
  std::vector<uint32_t> replicas;
  uint32_t microBatches = 1;
  bool splitsWeights = false;

  uint32_t replicasOf(uint32_t stage) const {
    return replicas.empty() ? 1 : replicas[stage];
  }
  /// The role that computes a micro-batch of a stage, both passes of it.
  uint32_t roleOf(uint32_t stage, uint32_t microBatch) const {
    return roleOfStage[stage] + microBatch % replicasOf(stage);
  }

  /// The number of a stage among its role's, counted from the input.
  uint32_t chunkOf(uint32_t stage) const;
  /// The stages of a role, in their order.
  std::vector<uint32_t> stagesOf(uint32_t role) const;
};

/// `chunks` are the stages of one role, of "interleaved" only; `replicas` the
/// roles of each stage, for "naive", "gpipe" and "1f1b", or none.
struct ScheduleRequest {
  std::string name;
  uint32_t roles = 1;
  uint32_t microBatches = 1;
  uint32_t chunks = 2;
  std::vector<uint32_t> replicas{};
};

/// Makes a schedule by its name:
///
///   naive        forward and backward of a micro-batch before the next
///   gpipe        all forwards, then all backwards
///   1f1b, flush  alternates once the pipeline is full
///   interleaved  Megatron's 1f1b of several stages a role; the roles divide
///                the micro-batches evenly
///   zb-h1        1f1b, whose weights' gradients fill the gaps
///   zb-h2        the same with up to 2 roles - 1 micro-batches under way
///   zb-v         two stages a role, there and back; at least 2 roles - 1
///                micro-batches
///
/// Replicas of a stage take micro-batches in turn: number k is computed by
/// replica k mod replicas, forward and backward (PipeDream, Narayanan et al.
/// 2019, section 3.2). With 1f1b each begins as many forwards as keep those
/// behind it busy: the roles from its stage on by its replicas, rounded up.
///
/// Fails for another name and for numbers that a schedule does not allow.
Result<PipelineSchedule> makeSchedule(const ScheduleRequest &request);

/// Seconds, or whatever unit the caller likes. Where a schedule does not split
/// them, a backward takes its own time and that of the weights.
struct WorkCosts {
  std::vector<double> forward, backward, weights; // by stage
  double message = 0; // from the end of one role's work to another's start

  /// The same costs for `stages` stages.
  static WorkCosts equal(size_t stages, double forward, double backward,
                         double weights);
};

struct WorkTime {
  double start, end;
};

struct Timeline {
  std::vector<std::vector<WorkTime>> roles; // as the schedule's
  double makespan = 0;
  // Idle time over all time, and over working time: means of all roles.
  double bubbleOfTotal = 0;
  double bubbleOfIdeal = 0;
  // The most micro-batches of its stages that a role has begun and not ended,
  // and those of one stage.
  std::vector<uint32_t> inFlight, inFlightOfStage;
};

/// Runs a schedule with buffered messages. Fails where roles wait for each
/// other and where the costs have too few stages.
Result<Timeline> simulateSchedule(const PipelineSchedule &schedule,
                                  const WorkCosts &costs);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_SCHEDULES_H
