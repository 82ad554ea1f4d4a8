//===- Partition.h - stages of a pipeline by dynamic programming *- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_PARTITION_H
#define ZC_PASSES_PIPELINE_PARTITION_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zc {

/// A piece of the model that is never cut, in topological order.
struct Segment {
  double seconds = 0; // of its forward and backward, for one micro-batch
  /// Time to send what crosses the cut in front of it, both passes, over the
  /// slowest of the links between stages.
  double cutSeconds = 0;
  bool trains = false; // whether it reads a trained parameter
  /// Whether it updates what needs every micro-batch in its order, so that its
  /// stage has one role.
  bool isSingle = false;
  /// Bytes that a micro-batch keeps from its forward to its backward.
  double stashBytes = 0;
  /// Bytes of the largest working set of an op while it runs.
  double workBytes = 0;
  /// Bytes sent over the cut before it, one way, for one micro-batch.
  double cutBytes = 0;
  /// The tensors that it reads, as indices into MemoryLimit::tensorBytes.
  std::vector<size_t> tensors;
};

/// The memory of the ranks of a stage.
struct MemoryLimit {
  double bytes = 0; // of a rank; 0: any
  /// For each stage, how many micro-batches are under way at most; a stage
  /// behind the last of them has one.
  std::vector<int64_t> inFlight;
  /// Bytes of each tensor on a rank from step to step; a trained one counts
  /// with its gradient and the optimizer's states.
  std::vector<double> tensorBytes;
};

/// For each stage, the seconds of a message over the link in front of it, as a
/// share of those over the slowest link; stages behind the last one have 1.
using LinkShares = std::vector<double>;

/// A partition into stages and the time of a step by the pipeline's own
/// formula.
struct Partition {
  std::vector<int64_t>
      begins;         // the first segment of each stage; begins[0] is 0
  double slowest = 0; // seconds of the slowest stage or message
  /// All stages and messages one after another, and the slowest again for each
  /// further micro-batch.
  double seconds = 0;
  double mostBytes = 0; // of the stage that needs most
};

/// The stages that make a step with `microBatches` micro-batches shortest; each
/// stage has a segment that trains. Nothing where there are too few of those.
/// Equal times: the earlier cuts. Bottlenecks are enumerated and the sum is
/// minimised for each (Alpa, Zheng et al. 2022, section 5.2).
///
/// No stage needs more than `memory` allows. Where no partition manages that,
/// none needs more than the largest stage must.
std::optional<Partition> partition(const std::vector<Segment> &segments,
                                   int64_t stages, int64_t microBatches,
                                   const MemoryLimit &memory = {},
                                   const LinkShares &links = {});

} // namespace zc

#endif // ZC_PASSES_PIPELINE_PARTITION_H
