//===- Replicas.h - stages that several roles have --------------*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_REPLICAS_H
#define ZC_PASSES_PIPELINE_REPLICAS_H

#include "passes/Pipeline/Partition.h"

namespace zc {

/// The cost of adding up a gradient over the replicas of a stage.
struct ReplicaCosts {
  /// Bytes of the gradient of each tensor in Segment::tensors; 0: it is not
  /// trained.
  std::vector<double> gradientBytes;
  double linkBytes = 0; // per second; 0: nothing takes time
};

/// Stages with the roles that each has.
struct ReplicatedPartition {
  std::vector<int64_t> begins;   // the first segment of each stage
  std::vector<int64_t> replicas; // by stage; their sum is the roles
  /// All stages and messages one after another, and the slowest stage's further
  /// micro-batches with the sum of its gradients.
  double seconds = 0;
};

/// Deals `roles` to stages, as many of them as are best, so that a step with
/// `microBatches` micro-batches is shortest: the dynamic programming of
/// PipeDream (Narayanan et al. 2019, section 3.1) over (segment, roles left),
/// for a step with a flush. A stage of time t with r replicas takes t at first,
/// and then t for each further one of its ceil(M / r) micro-batches, and a
/// ring's all-reduce of its gradients, 2 (r - 1) / r of their bytes. One stage
/// with all roles is data parallelism, one role a stage the straight pipeline.
///
/// A stage with a segment that is single has one role. No stage needs more than
/// `memory` allows, if that can be. Nothing where there is no segment that
/// trains or there are fewer micro-batches than any stage would need.
std::optional<ReplicatedPartition>
partitionReplicated(const std::vector<Segment> &segments, int64_t roles,
                    int64_t microBatches, const ReplicaCosts &costs,
                    const MemoryLimit &memory = {});

/// The seconds of a step for a given partition by the same formula.
double estimateReplicated(const std::vector<Segment> &segments,
                          int64_t microBatches, const ReplicaCosts &costs,
                          const std::vector<int64_t> &begins,
                          const std::vector<int64_t> &replicas);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_REPLICAS_H
