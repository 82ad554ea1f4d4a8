// Attention, and its gradients.
#ifndef ZC_KERNELS_CALLS_ATTENTION_H
#define ZC_KERNELS_CALLS_ATTENTION_H

#include "kernels/Calls/Call.h"

namespace zc::kernels {

/// Softmax(scale q k^T) v per batch entry and head, or its gradients, on dense
/// tensors of one type, float32 on CPUs: q and the result are [batch, queries,
/// heads, width], k and v [batch, keys, heads, width]. `causal`: query i
/// attends keys 0 to i.
struct AttentionSpec {
  bool backward = false;
  int64_t batch = 1, queries = 1, keys = 1, heads = 1, width = 1;
  double scale = 1;
  bool causal = false;
  /// A mask [.., keys] that is added to the scaled scores: whether there is
  /// one, and how many elements apart its parts of samples, heads and queries
  /// are.
  bool masked = false;
  int64_t maskStrides[3] = {0, 0, 0};
  /// Instead of a mask: whether it is said, for all samples and heads
  /// [queries], which key is the last that each query attends, as I64.
  bool bounded = false;
  ElementType type = ElementType::F32;
};

/// `buffers`: query, key, value, result, log of sums, then the gradients of the
/// result, of query, key and value, and the mask; null where there is none.
struct AttentionLaunch {
  AttentionSpec spec;
  std::vector<void *> buffers;
  void *workspace;
  uint64_t workspaceBytes;
};

/// Query, key, value[, mask] to the result[, the log of sums]; or query, key,
/// value, result, log of sums, the result's gradient[, mask] to the gradients
/// of query[, key[, value]]. The log of sums, [batch, heads, queries], is
/// float32. A mask [batch or 1, heads or 1, queries or 1, keys] is added to the
/// scaled scores; one of I64, [1, 1, queries, 1], says which key is the last
/// that each query attends.
struct AttentionCall : CallRoom {
  using Spec = AttentionSpec;
  using Launch = AttentionLaunch;
  static constexpr const char *kName = "attention";
  static constexpr std::string_view kOps[] = {"attention", "attention_grad"};
  static constexpr std::string_view kAttributes[] = {"scale", "causal"};
  static constexpr CallRate kRates[] = {{"attention"},
                                        {"attention_backward", "attention"}};
  static CallWork workOf(const LibraryCall &call);

  static std::string check(const LibraryCall &call);
  static Spec specOf(const LibraryCall &call);
  static Launch launch(const LibraryCall &call, const CallAddresses &addresses);
  static uint64_t cpuWorkspace(const Spec &spec, int threads);
  static uint64_t cudaWorkspace(const Spec &spec);
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_ATTENTION_H
