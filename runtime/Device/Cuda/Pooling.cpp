#include "runtime/Device/Cuda/Pooling.h"
#include "runtime/Device/Cuda/Advice.h"

namespace zc::cuda {

static std::string describe(const kernels::PoolingSpec &spec) {
  using kernels::PoolingKind;
  const char *which = spec.kind == PoolingKind::Maximum ? "the largest"
                      : spec.kind == PoolingKind::Average
                          ? "the average"
                          : "the gradient of the average";
  return strCat(which, " of windows ", printDims(spec.window), " in ",
                printType(spec.image.type), ", images ",
                printDims(spec.image.dims));
}

ExecutableResult makePooling(DnnPlans &plans, const PoolingLaunch &launch) {
  const kernels::PoolingSpec &spec = launch.spec;
  auto graph = std::make_shared<DnnGraph>(plans.library(),
                                          DnnGraph::Rounding::FixedOrder);
  DnnGraph::Tensor image = graph->inMemory(spec.image, launch.image),
                   pooled = graph->inMemory(spec.pooled, launch.pooled);
  graph->pool(spec, image, pooled);
  return plans.advise(plans.make(std::move(graph), nullptr, 0), describe(spec),
                      "cudnn.pooling");
}

} // namespace zc::cuda
