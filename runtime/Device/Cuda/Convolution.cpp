#include "runtime/Device/Cuda/Advice.h"
#include "runtime/Device/Cuda/CudaCalls.h"

#include "kernels/Calls/Scratch.h"

#include <algorithm>

namespace zc::cuda {
namespace {

DnnGraph::Rounding roundingOf(kernels::ElementType type, bool tf32) {
  bool exact = type == kernels::ElementType::F32 && !tf32;
  return exact ? DnnGraph::Rounding::Exact : DnnGraph::Rounding::FixedOrder;
}

/// A convolution's attributes by its kind.
struct ConvolutionNames {
  cudnnBackendDescriptorType_t op;
  cudnnBackendAttributeName_t source, filter, destination, convolution, alpha,
      beta;
};

const ConvolutionNames &namesOf(kernels::ConvolutionKind kind) {
  static const ConvolutionNames kNames[] = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
  };
  return kNames[int(kind)];
}

/// Adds the operation. The spec's kind decides which tensor is the result,
/// which is added to `beta` times itself.
void convolve(DnnGraph &graph, const kernels::ConvolutionSpec &spec,
              DnnGraph::Tensor source, DnnGraph::Tensor filter,
              DnnGraph::Tensor destination, float beta) {
  DnnGraph::Descriptor windows =
      graph.create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  int64_t spatial = int64_t(spec.strides.size());
  graph.set(windows, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
            spatial);
  graph.set(windows, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
            CUDNN_DATA_FLOAT);
  graph.set(windows, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
            CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  graph.set(windows, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spec.padsLow);
  graph.set(windows, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spec.padsHigh);
  graph.set(windows, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spec.strides);
  graph.set(windows, CUDNN_ATTR_CONVOLUTION_DILATIONS, spec.dilations);
  graph.finalize(windows);
  const ConvolutionNames &names = namesOf(spec.kind);
  DnnGraph::Descriptor op = graph.create(names.op);
  graph.set(op, names.convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR, windows);
  graph.setTensor(op, names.source, source);
  graph.setTensor(op, names.filter, filter);
  graph.setTensor(op, names.destination, destination);
  const float one = 1;
  graph.set(op, names.alpha, CUDNN_TYPE_FLOAT, one);
  graph.set(op, names.beta, CUDNN_TYPE_FLOAT, beta);
  graph.add(op);
}

std::string describe(const kernels::ConvolutionSpec &spec) {
  using kernels::ConvolutionKind;
  const char *which = spec.kind == ConvolutionKind::Forward ? "a convolution"
                      : spec.kind == ConvolutionKind::BackwardInput
                          ? "the gradient of images"
                          : "the gradient of filters";
  return strCat(which, " in ", kernels::nameOfType(spec.source.type),
                ", images ", kernels::printDims(spec.source.dims), ", filters ",
                kernels::printDims(spec.filter.dims));
}

ExecutableResult makeWhole(DnnPlans &plans,
                           const kernels::ConvolutionLaunch &launch,
                           float beta = 0) {
  const kernels::ConvolutionSpec &spec = launch.spec;
  auto graph = std::make_shared<DnnGraph>(
      plans.library(), roundingOf(spec.source.type, plans.tf32()));
  DnnGraph::Tensor source = graph->inMemory(spec.source, launch.source),
                   filter = graph->inMemory(spec.filter, launch.filter),
                   destination =
                       graph->inMemory(spec.destination, launch.destination);
  convolve(*graph, spec, source, filter, destination, beta);
  return plans.make(std::move(graph), launch.workspace, launch.workspaceBytes);
}

//===----------------------------------------------------------------------===//
// Some samples at a time
//===----------------------------------------------------------------------===//

/// Calls one behind the other.
class Sequence final : public CudaExecutable {
public:
  void add(std::unique_ptr<Executable> part) {
    parts.emplace_back(static_cast<CudaExecutable *>(part.release()));
  }
  Status enqueue(CUstream stream) override {
    for (const std::unique_ptr<CudaExecutable> &part : parts)
      ZC_RETURN_IF_ERROR(part->enqueue(stream));
    return Status();
  }

private:
  std::vector<std::unique_ptr<CudaExecutable>> parts;
};

/// At most `most` of the samples, in equal parts where about as few will do.
int64_t dividedEvenly(int64_t samples, int64_t most) {
  int64_t fewest = (samples + most - 1) / most;
  for (int64_t parts = fewest; parts < 2 * fewest; ++parts)
    if (samples % parts == 0)
      return samples / parts;
  return (samples + fewest - 1) / fewest;
}

/// Whether parts of so many samples begin at multiples of 16 bytes, as the
/// library wants it.
bool beginsAligned(const kernels::ConvolutionSpec &spec, int64_t samples) {
  constexpr int64_t kFloats = 16 / sizeof(float);
  return samples * spec.source.strides[0] % kFloats == 0 &&
         samples * spec.destination.strides[0] % kFloats == 0;
}

/// The engines that multiply float32 exactly copy images into a layout of their
/// own. Where the workspace has no room for copies of all images, only engines
/// without copies are left, which take some twenty times as long (the second
/// layer of VGG-16). So they are given as many samples as there is room for.
int64_t samplesAtATime(const kernels::ConvolutionSpec &spec,
                       uint64_t workspaceBytes) {
  constexpr uint64_t kBeside = 1 << 20;
  int64_t samples = spec.source.dims[0];
  uint64_t perSample = sizeof(float) *
                       (kernels::countElements(spec.source) +
                        kernels::countElements(spec.destination)) /
                       uint64_t(samples);
  uint64_t beside =
      sizeof(float) * kernels::countElements(spec.filter) + kBeside;
  if (workspaceBytes < beside + perSample ||
      workspaceBytes >= beside + perSample * uint64_t(samples))
    return samples;
  int64_t most = int64_t((workspaceBytes - beside) / perSample);
  int64_t part = dividedEvenly(samples, most);
  if (beginsAligned(spec, part))
    return part;
  return most < 4 ? samples : most / 4 * 4; // any four do
}

/// The launch for `count` samples from `first` on.
kernels::ConvolutionLaunch ofSamples(kernels::ConvolutionLaunch launch,
                                     int64_t first, int64_t count) {
  auto move = [&](kernels::StridedTensor &tensor, auto *&address) {
    address = static_cast<float *>(address) + first * tensor.strides[0];
    tensor.dims[0] = count;
  };
  move(launch.spec.source, launch.source);
  move(launch.spec.destination, launch.destination);
  return launch;
}

/// The gradients of filters are summed up part by part.
ExecutableResult makeInParts(DnnPlans &plans,
                             const kernels::ConvolutionLaunch &launch,
                             int64_t atATime) {
  bool sums = launch.spec.kind == kernels::ConvolutionKind::BackwardFilter;
  auto sequence = std::make_unique<Sequence>();
  int64_t samples = launch.spec.source.dims[0];
  for (int64_t first = 0; first < samples; first += atATime) {
    int64_t count = std::min(atATime, samples - first);
    ZC_ASSIGN_OR_RETURN(std::unique_ptr<Executable> part,
                        makeWhole(plans, ofSamples(launch, first, count),
                                  sums && first > 0 ? 1 : 0));
    sequence->add(std::move(part));
  }
  return std::unique_ptr<Executable>(std::move(sequence));
}

} // namespace

ExecutableResult makeCall(LibraryHandles &libraries,
                          const kernels::ConvolutionLaunch &launch) {
  ZC_ASSIGN_OR_RETURN(DnnPlans * plans, libraries.dnn());
  const kernels::ConvolutionSpec &spec = launch.spec;
  int64_t samples = spec.source.dims[0], atATime = samples;
  if (roundingOf(spec.source.type, plans->tf32()) == DnnGraph::Rounding::Exact)
    atATime = samplesAtATime(spec, launch.workspaceBytes);
  return plans->advise(atATime < samples ? makeInParts(*plans, launch, atATime)
                                         : makeWhole(*plans, launch),
                       describe(spec), "cudnn.convolution");
}

} // namespace zc::cuda
