// Batch norms with the ReLU behind them, and their gradients.
#ifndef ZC_KERNELS_CALLS_NORM_H
#define ZC_KERNELS_CALLS_NORM_H

#include "kernels/Calls/Call.h"

namespace zc::kernels {

/// Batch normalisation with the batch's own moments, and what follows it: y =
/// relu(scale (x - mean) inverse + bias + addend), inverse = 1 / sqrt(variance
/// + epsilon), or the gradients of that without an addend. Images [N, C,
/// spatial...] in this logical order, channels side by side in memory; scale,
/// bias, moments and their gradients are C numbers of float32.
struct NormSpec {
  bool backward = false;
  StridedTensor image; // each of them
  double epsilon = 0;  // forward
  bool addend = false; // forward: an image, or else 0
};

/// `addend` and what follows it: as the spec says, or null.
struct NormLaunch {
  NormSpec spec;
  void *image, *scale, *bias, *mean, *inverse, *result;
  void *workspace;
  uint64_t workspaceBytes;
  void *addend, *grad, *scaleGrad, *biasGrad;
};

/// Image, scale, bias[, addend] to the result, mean, inverse deviation; or
/// image, scale, bias, mean, inverse deviation, gradient to the gradients of
/// image, scale and bias. Images are dense [N, spatial..., C] of 16 bits, all
/// others [C] of float32.
struct NormCall : CallRoom {
  using Spec = NormSpec;
  using Launch = NormLaunch;
  static constexpr const char *kName = "norm";
  static constexpr const char *kCudaLibrary = "cudnn.norm";
  static constexpr std::string_view kOps[] = {"batch_norm_training",
                                              "batch_norm_grad"};
  static constexpr std::string_view kAttributes[] = {"epsilon",
                                                     "train.norm.addend"};
  /// The last one.
  static constexpr std::string_view kImplied[] = {"channel_dim"};

  static std::string check(const LibraryCall &call);
  static Spec specOf(const LibraryCall &call);
  static Launch launch(const LibraryCall &call, const CallAddresses &addresses);
  static uint64_t cudaWorkspace(const Spec &spec);
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_NORM_H
