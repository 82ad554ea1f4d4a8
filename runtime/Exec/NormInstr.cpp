#include "runtime/Exec/Instructions.h"

namespace zc {

/// A dense buffer [N, spatial..., C] in the order N, C, spatial.
static kernels::StridedTensor makeImage(const plan::TensorType &type) {
  const auto &dims = type.dims();
  int rank = dims.size();
  kernels::StridedTensor image;
  image.type = elementType(type.dtype());
  image.dims = {dims[0], dims[rank - 1]};
  image.dims.insert(image.dims.end(), dims.begin() + 1, dims.end() - 1);
  image.strides.assign(size_t(rank), 1);
  int64_t stride = dims[rank - 1];
  for (int i = rank - 1; i >= 2; --i) {
    image.strides[size_t(i)] = stride;
    stride *= image.dims[size_t(i)];
  }
  image.strides[0] = stride;
  return image;
}

NormLaunch makeNormLaunch(const AddressMap &map, const plan::NormCall &call) {
  NormLaunch launch = {};
  launch.spec = {call.has_gradient(),
                 makeImage(map.buffer(call.image()).type()), call.epsilon(),
                 call.has_addend()};
  launch.image = map.address(call.image());
  launch.scale = map.address(call.scale());
  launch.bias = map.address(call.bias());
  launch.mean = map.address(call.mean());
  launch.inverse = map.address(call.inverse());
  launch.result = map.address(call.result());
  if (call.has_addend())
    launch.addend = map.address(call.addend());
  if (call.has_gradient()) {
    launch.grad = map.address(call.gradient().grad());
    launch.scaleGrad = map.address(call.gradient().scale_grad());
    launch.biasGrad = map.address(call.gradient().bias_grad());
  }
  launch.workspace = map.address(call.workspace());
  launch.workspaceBytes = map.buffer(call.workspace()).type().dims(0);
  return launch;
}

} // namespace zc
