#include "runtime/Device/Cuda/Pooling.h"
#include "runtime/Device/Cuda/Advice.h"

namespace zc::cuda {

static std::string describe(const kernels::PoolingSpec &spec) {
  return strCat("the largest of windows ", printDims(spec.window), " in ",
                printType(spec.source.type), ", images ",
                printDims(spec.source.dims));
}

ExecutableResult makePooling(DnnPlans &plans, const PoolingLaunch &launch) {
  const kernels::PoolingSpec &spec = launch.spec;
  auto graph = std::make_shared<DnnGraph>(plans.library(),
                                          DnnGraph::Rounding::FixedOrder);
  DnnGraph::Tensor source = graph->inMemory(spec.source, launch.source),
                   destination =
                       graph->inMemory(spec.destination, launch.destination);
  graph->pool(spec, source, destination);
  ExecutableResult made = plans.make(std::move(graph), nullptr, 0);
  if (!made.ok())
    return adviseOnLack(made.status(), "cuDNN", describe(spec),
                        "ZC_CUDA_POOLING");
  return made;
}

} // namespace zc::cuda
