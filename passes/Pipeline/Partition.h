//===- Partition.h - stages of a pipeline by dynamic programming *- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_PARTITION_H
#define ZC_PASSES_PIPELINE_PARTITION_H

#include <cstdint>
#include <optional>
#include <vector>

namespace zc {

/// A piece of the model that is never cut, in topological order.
struct Segment {
  double seconds = 0; // of its forward and backward, for one micro-batch
  /// Time to send what crosses the cut in front of it, both passes.
  double cutSeconds = 0;
  bool trains = false; // whether it reads a trained parameter
};

/// A partition into stages and the time of a step by the pipeline's own
/// formula.
struct Partition {
  std::vector<int64_t>
      begins;         // the first segment of each stage; begins[0] is 0
  double slowest = 0; // seconds of the slowest stage or message
  /// All stages and messages one after another, and the slowest again for each
  /// further micro-batch.
  double seconds = 0;
};

/// The stages that make a step with `microBatches` micro-batches shortest; each
/// stage has a segment that trains. Nothing where there are too few of those.
/// Equal times: the earlier cuts. Bottlenecks are enumerated and the sum is
/// minimised for each (Alpa, Zheng et al. 2022, section 5.2).
std::optional<Partition> partition(const std::vector<Segment> &segments,
                                   int64_t stages, int64_t microBatches);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_PARTITION_H
