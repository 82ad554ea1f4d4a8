#include "runtime/Device/Cuda/Advice.h"
#include "runtime/Device/Cuda/CudaCalls.h"

namespace zc::cuda {
namespace {

DnnGraph::Rounding roundingOf(kernels::ElementType type, bool tf32) {
  bool exact = type == kernels::ElementType::F32 && !tf32;
  return exact ? DnnGraph::Rounding::Exact : DnnGraph::Rounding::FixedOrder;
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

} // namespace

ExecutableResult makeCall(LibraryHandles &libraries,
                          const kernels::ConvolutionLaunch &launch) {
  ZC_ASSIGN_OR_RETURN(DnnPlans * plans, libraries.dnn());
  const kernels::ConvolutionSpec &spec = launch.spec;
  auto graph = std::make_shared<DnnGraph>(
      plans->library(), roundingOf(spec.source.type, plans->tf32()));
  DnnGraph::Tensor source = graph->inMemory(spec.source, launch.source),
                   filter = graph->inMemory(spec.filter, launch.filter),
                   destination =
                       graph->inMemory(spec.destination, launch.destination);
  graph->convolve(spec, source, filter, destination);
  return plans->advise(
      plans->make(std::move(graph), launch.workspace, launch.workspaceBytes),
      describe(spec), "cudnn.convolution");
}

} // namespace zc::cuda
