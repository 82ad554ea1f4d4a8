// Convolutions of images, and their gradients.
#ifndef ZC_KERNELS_CALLS_CONVOLUTION_H
#define ZC_KERNELS_CALLS_CONVOLUTION_H

#include "kernels/Calls/Call.h"

namespace zc::kernels {

enum class ConvolutionKind : uint8_t {
  Forward,        // destination = conv(source, filter)
  BackwardInput,  // source = gradient of source
  BackwardFilter, // filter = gradient of filter
};

/// source [N, C, spatial...], destination [N, K, spatial...], filter
/// [K, C/groups, spatial...], in this logical order whatever the strides.
/// A dilation of 1 is dense.
struct ConvolutionSpec {
  ConvolutionKind kind = ConvolutionKind::Forward;
  StridedTensor source, filter, destination;
  std::vector<int64_t> strides, dilations, padsLow, padsHigh;
  int64_t groups = 1;
  /// Whether Winograd's way may be taken where it is quicker: it rounds in
  /// another order (kernels/Calls/Division/WinogradBlocks.h). GPUs ignore
  /// it.
  bool winograd = false;
};

struct ConvolutionLaunch {
  ConvolutionSpec spec;
  void *source, *filter, *destination;
  void *workspace;
  uint64_t workspaceBytes;
};

/// Two of source, filter and destination, in this order, to the third.
struct ConvolutionCall : CallRoom {
  using Spec = ConvolutionSpec;
  using Launch = ConvolutionLaunch;
  static constexpr const char *kName = "convolution";
  static constexpr std::string_view kOps[] = {"conv", "conv_input_grad",
                                              "conv_filter_grad"};
  static constexpr std::string_view kAttributes[] = {
      "strides", "dilations",     "pads_low", "pads_high",
      "groups",  "channels_last", "winograd"};
  static constexpr CallRate kRates[] = {{"convolution"}};
  static CallWork workOf(const LibraryCall &call);

  static std::string check(const LibraryCall &call);
  static Spec specOf(const LibraryCall &call);
  static Launch launch(const LibraryCall &call, const CallAddresses &addresses);
  static uint64_t cpuWorkspace(const Spec &spec, int threads);
  static uint64_t cudaWorkspace(const Spec &spec);
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_CONVOLUTION_H
