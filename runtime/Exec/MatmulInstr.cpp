#include "runtime/Exec/Instructions.h"

namespace zc {

static kernels::MatmulActivation toActivation(plan::MatmulActivation kind) {
  switch (kind) {
  case plan::RELU:
    return kernels::MatmulActivation::Relu;
  case plan::GELU:
    return kernels::MatmulActivation::Gelu;
  case plan::GELU_GRADIENT:
    return kernels::MatmulActivation::GeluGradient;
  case plan::RELU_GRADIENT:
    return kernels::MatmulActivation::ReluGradient;
  default:
    return kernels::MatmulActivation::Linear;
  }
}

static void addEpilogue(const AddressMap &map,
                        const plan::MatmulEpilogue &epilogue,
                        MatmulLaunch &launch) {
  using kernels::MatmulSums;
  kernels::MatmulEpilogue &spec = launch.spec.epilogue;
  spec.activation = toActivation(epilogue.activation());
  auto find = [&](bool has, uint32_t buffer, void *&address) {
    address = has ? map.address(buffer) : nullptr;
    return has;
  };
  spec.addend = find(epilogue.has_addend(), epilogue.addend(), launch.addend);
  spec.bias = find(epilogue.has_bias(), epilogue.bias(), launch.bias);
  spec.auxiliary =
      find(epilogue.has_auxiliary(), epilogue.auxiliary(), launch.auxiliary);
  if (find(epilogue.has_column_sums(), epilogue.column_sums(), launch.sums))
    spec.sums = MatmulSums::ResultColumns;
  else if (find(epilogue.has_lhs_sums(), epilogue.lhs_sums(), launch.sums))
    spec.sums = MatmulSums::LhsRows;
  else if (find(epilogue.has_rhs_sums(), epilogue.rhs_sums(), launch.sums))
    spec.sums = MatmulSums::RhsColumns;
}

MatmulLaunch makeMatmulLaunch(const AddressMap &map,
                              const plan::MatmulCall &call) {
  MatmulLaunch launch = {};
  launch.spec.a = makeStridedTensor(map, call.a());
  launch.spec.b = makeStridedTensor(map, call.b());
  launch.spec.c = makeStridedTensor(map, call.c());
  launch.spec.accumulate = call.accumulate();
  launch.a = map.address(call.a().buffer());
  launch.b = map.address(call.b().buffer());
  launch.c = map.address(call.c().buffer());
  if (call.has_workspace()) {
    launch.workspace = map.address(call.workspace());
    launch.workspaceBytes = map.buffer(call.workspace()).type().dims(0);
  }
  if (call.has_epilogue())
    addEpilogue(map, call.epilogue(), launch);
  return launch;
}

} // namespace zc
