#include "runtime/Device/Cuda/Advice.h"
#include "runtime/Device/Cuda/CudaCalls.h"

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

/// Adds the operation. The spec's kind decides which tensor is the result.
void convolve(DnnGraph &graph, const kernels::ConvolutionSpec &spec,
              DnnGraph::Tensor source, DnnGraph::Tensor filter,
              DnnGraph::Tensor destination) {
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
  const float one = 1, zero = 0;
  graph.set(op, names.alpha, CUDNN_TYPE_FLOAT, one);
  graph.set(op, names.beta, CUDNN_TYPE_FLOAT, zero);
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
  convolve(*graph, spec, source, filter, destination);
  return plans->advise(
      plans->make(std::move(graph), launch.workspace, launch.workspaceBytes),
      describe(spec), "cudnn.convolution");
}

} // namespace zc::cuda
