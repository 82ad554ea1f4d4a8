// Windows of images: their largest elements, their averages.
#ifndef ZC_KERNELS_CALLS_POOLING_H
#define ZC_KERNELS_CALLS_POOLING_H

#include "kernels/Calls/Call.h"

namespace zc::kernels {

enum class PoolingKind : uint8_t {
  Maximum,         // pooled = the largest element of each window
  Average,         // pooled = the average of each window
  AverageGradient, // image = the gradient of Average's image, pooled is given
};

/// The windows of an image: [N, C, spatial...] both, in this logical order
/// whatever the strides. No window lies in the padding alone, which counts with
/// `countIncludePad` in what an average divides by.
struct PoolingSpec {
  PoolingKind kind = PoolingKind::Maximum;
  StridedTensor image, pooled;
  std::vector<int64_t> window, strides, padsLow, padsHigh;
  bool countIncludePad = false;
};

struct PoolingLaunch {
  PoolingSpec spec;
  void *image, *pooled;
};

/// The image to its windows; the gradient of these to that of the image.
struct PoolingCall : CallRoom {
  using Spec = PoolingSpec;
  using Launch = PoolingLaunch;
  /// How reports call the kind.
  static constexpr const char *kName = "pooling";
  /// The ops that calls of the kind compute, and their attributes that count.
  static constexpr std::string_view kOps[] = {"max_pool", "average_pool",
                                              "average_pool_grad"};
  static constexpr std::string_view kAttributes[] = {
      "window",    "strides",           "pads_low",
      "pads_high", "count_include_pad", "channels_last"};
  /// They are 1: with others, the windows would give other dims.
  static constexpr std::string_view kImplied[] = {"dilations"};

  // Other members that a room may have; CallRoom has their defaults:
  // kImplied, attributes of the ops that the tensors or other attributes imply;
  // kRates, the efficiencies of its own that a cluster file may have, and
  // workOf(), by which of them a sound call is timed; and, in bytes,
  // cpuWorkspace(), the scratch memory that the kernel needs at most on so many
  // threads, a multiple of 64, and cudaWorkspace(), a multiple of 256.

  /// How the call is unsound, whatever it holds; empty if it is sound.
  static std::string check(const LibraryCall &call);
  /// The kernel of a sound call. The workspace alone may be missing.
  static Spec specOf(const LibraryCall &call);
  static Launch launch(const LibraryCall &call, const CallAddresses &addresses);
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_POOLING_H
