#include "kernels/Calls/Norm.h"

#include "kernels/Calls/Scratch.h"

#include <initializer_list>
#include <utility>

namespace zc::kernels {
namespace {

bool isGradient(const LibraryCall &call) {
  return call.op == "batch_norm_grad";
}

/// A tensor of a norm: an image, or a number per channel.
struct Part {
  const CallTensor &tensor;
  bool isImage;
  const char *name;
};

std::string checkParts(const CallTensor &image,
                       std::initializer_list<Part> parts) {
  const std::vector<int64_t> channels{image.dims.back()};
  for (const auto &[tensor, isImage, name] : parts) {
    const bool sound =
        isImage ? tensor.type == image.type && tensor.dims == image.dims
                : tensor.type == ElementType::F32 && tensor.dims == channels;
    if (!sound)
      return std::string("its ") + name + " is " + print(tensor) +
             ", of images " + print(image);
  }
  return "";
}

std::string checkForward(const LibraryCall &call) {
  const auto &in = call.inputs, &out = call.outputs;
  if (!call.has("epsilon"))
    return "it has no epsilon";
  const bool hasAddend = call.has("train.norm.addend");
  if (std::string error = checkCounts(call, hasAddend ? 4 : 3, 3);
      !error.empty())
    return error;
  return checkParts(in[0], {{in[1], false, "scale"},
                            {in[2], false, "bias"},
                            {hasAddend ? in[3] : in[0], true, "addend"},
                            {out[0], true, "result"},
                            {out[1], false, "mean"},
                            {out[2], false, "inverse deviation"}});
}

std::string checkBackward(const LibraryCall &call) {
  const auto &in = call.inputs, &out = call.outputs;
  if (std::string error = checkCounts(call, 6, 3); !error.empty())
    return error;
  return checkParts(in[0], {{in[1], false, "scale"},
                            {in[2], false, "bias"},
                            {in[3], false, "mean"},
                            {in[4], false, "inverse deviation"},
                            {in[5], true, "gradient"},
                            {out[0], true, "result"},
                            {out[1], false, "scale_grad"},
                            {out[2], false, "bias_grad"}});
}

} // namespace

std::string NormCall::check(const LibraryCall &call) {
  if (call.inputs.empty())
    return checkCounts(call, 3, 3);
  const CallTensor &image = call.inputs[0];
  const size_t rank = image.dims.size();
  const bool isNarrow =
      image.type == ElementType::BF16 || image.type == ElementType::F16;
  if (!isNarrow || rank < 4 || rank > 5 ||
      (isGradient(call) && call.has("train.norm.addend")))
    return "it normalises " + print(image);
  const std::string error =
      isGradient(call) ? checkBackward(call) : checkForward(call);
  return error.empty() && !call.hasWorkspace ? "it has no workspace" : error;
}

NormSpec NormCall::specOf(const LibraryCall &call) {
  NormSpec spec;
  spec.backward = isGradient(call);
  spec.image = asImage(call.inputs[0], /*channelsLast=*/true);
  if (!spec.backward)
    spec.epsilon = call.number("epsilon");
  spec.addend = call.has("train.norm.addend");
  return spec;
}

/// Two sums per team and channel in float32, and what teams wait for each other
/// with. Teams are as many as multiprocessors (132 of an H200: 1056 bytes a
/// channel), or some times as many with a part of the channels each.
uint64_t NormCall::cudaWorkspace(const NormSpec &spec) {
  constexpr uint64_t kSums = 4096, kRest = 4u << 20;
  return alignedForCuda(kSums * uint64_t(spec.image.dims[1]) + kRest);
}

NormLaunch NormCall::launch(const LibraryCall &call,
                            const CallAddresses &addresses) {
  const auto &in = addresses.inputs, &out = addresses.outputs;
  NormLaunch launch = {};
  launch.spec = specOf(call);
  launch.image = in[0];
  launch.scale = in[1];
  launch.bias = in[2];
  launch.result = out[0];
  if (launch.spec.backward) {
    launch.mean = in[3];
    launch.inverse = in[4];
    launch.grad = in[5];
    launch.scaleGrad = out[1];
    launch.biasGrad = out[2];
  } else {
    launch.mean = out[1];
    launch.inverse = out[2];
    launch.addend = launch.spec.addend ? in[3] : nullptr;
  }
  launch.workspace = addresses.workspace;
  launch.workspaceBytes = addresses.workspaceBytes;
  return launch;
}

} // namespace zc::kernels
