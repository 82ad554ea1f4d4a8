#include "runtime/Device/Cuda/Advice.h"
#include "runtime/Device/Cuda/CudaCalls.h"

namespace zc::cuda {

static cudnnResampleMode_t modeOf(const kernels::PoolingSpec &spec) {
  if (spec.kind == kernels::PoolingKind::Maximum)
    return CUDNN_RESAMPLE_MAXPOOL;
  return spec.countIncludePad ? CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING
                              : CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
}

/// Adds the operation of the spec.
static void pool(DnnGraph &graph, const kernels::PoolingSpec &spec,
                 DnnGraph::Tensor image, DnnGraph::Tensor pooled) {
  DnnGraph::Descriptor windows =
      graph.create(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
  int64_t spatial = int64_t(spec.window.size());
  bool isMaximum = spec.kind == kernels::PoolingKind::Maximum;
  graph.set(windows, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE,
            modeOf(spec));
  graph.set(windows, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
            CUDNN_DATA_FLOAT);
  // Generated kernels do the same: a NaN is a window's largest element.
  graph.set(windows, CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION,
            CUDNN_TYPE_NAN_PROPOGATION, CUDNN_PROPAGATE_NAN);
  graph.set(windows, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE,
            isMaximum ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD);
  graph.set(windows, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_TYPE_INT64,
            spatial);
  graph.setFractions(windows, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, spec.window);
  graph.setFractions(windows, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, spec.padsLow);
  graph.setFractions(windows, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, spec.padsHigh);
  graph.setFractions(windows, CUDNN_ATTR_RESAMPLE_STRIDES, spec.strides);
  graph.finalize(windows);
  if (spec.kind == kernels::PoolingKind::AverageGradient) {
    DnnGraph::Descriptor op =
        graph.create(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
    graph.set(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC,
              CUDNN_TYPE_BACKEND_DESCRIPTOR, windows);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, image);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, pooled);
    return graph.add(op);
  }
  DnnGraph::Descriptor op =
      graph.create(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  graph.set(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC,
            CUDNN_TYPE_BACKEND_DESCRIPTOR, windows);
  graph.setTensor(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, image);
  graph.setTensor(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, pooled);
  graph.add(op);
}

static std::string describe(const kernels::PoolingSpec &spec) {
  using kernels::PoolingKind;
  const char *which = spec.kind == PoolingKind::Maximum ? "the largest"
                      : spec.kind == PoolingKind::Average
                          ? "the average"
                          : "the gradient of the average";
  return strCat(which, " of windows ", kernels::printDims(spec.window), " in ",
                kernels::nameOfType(spec.image.type), ", images ",
                kernels::printDims(spec.image.dims));
}

ExecutableResult makeCall(LibraryHandles &libraries,
                          const kernels::PoolingLaunch &launch) {
  ZC_ASSIGN_OR_RETURN(DnnPlans * plans, libraries.dnn());
  const kernels::PoolingSpec &spec = launch.spec;
  auto graph = std::make_shared<DnnGraph>(plans->library(),
                                          DnnGraph::Rounding::FixedOrder);
  DnnGraph::Tensor image = graph->inMemory(spec.image, launch.image),
                   pooled = graph->inMemory(spec.pooled, launch.pooled);
  pool(*graph, spec, image, pooled);
  return plans->advise(plans->make(std::move(graph), nullptr, 0),
                       describe(spec), "cudnn.pooling");
}

} // namespace zc::cuda
