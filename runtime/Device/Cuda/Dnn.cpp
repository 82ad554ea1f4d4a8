#include "runtime/Device/Cuda/Dnn.h"
#include "runtime/Device/Cuda/Library.h"

namespace zc::cuda {

Dnn::~Dnn() {
  if (handle)
    cudnnDestroy(handle);
}

Result<std::unique_ptr<Dnn>> Dnn::open() {
  auto dnn = std::make_unique<Dnn>();
  const std::string name = "libcudnn.so.9";
  ZC_ASSIGN_OR_RETURN(void *library, openLibrary(name));
  Status found = findSymbols(library, name,
                             {
#define F(name) {#name, reinterpret_cast<void **>(&dnn->name)},
                                 ZC_CUDNN_FUNCTIONS(F)
#undef F
                             });
  ZC_RETURN_IF_ERROR(found);
  ZC_DNN_CALL(*dnn, cudnnCreate, &dnn->handle);
  return dnn;
}

Status Dnn::check(cudnnStatus_t status, const char *call) const {
  if (status == CUDNN_STATUS_SUCCESS)
    return Status();
  bool lacks = CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
  return makeError(lacks ? StatusCode::Unsupported : StatusCode::Internal, call,
                   ": ", cudnnGetErrorString(status));
}

cudnnDataType_t Dnn::dataType(kernels::ElementType type) {
  switch (type) {
  case kernels::ElementType::BF16:
    return CUDNN_DATA_BFLOAT16;
  case kernels::ElementType::F16:
    return CUDNN_DATA_HALF;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

std::vector<int> Dnn::toInt(const std::vector<int64_t> &numbers) {
  return {numbers.begin(), numbers.end()};
}

DnnTensor::~DnnTensor() {
  if (descriptor)
    dnn.cudnnDestroyTensorDescriptor(descriptor);
}

Status DnnTensor::describe(const kernels::StridedTensor &tensor) {
  ZC_DNN_CALL(dnn, cudnnCreateTensorDescriptor, &descriptor);
  std::vector<int> dims = Dnn::toInt(tensor.dims),
                   strides = Dnn::toInt(tensor.strides);
  ZC_DNN_CALL(dnn, cudnnSetTensorNdDescriptor, descriptor,
              Dnn::dataType(tensor.type), int(dims.size()), dims.data(),
              strides.data());
  return Status();
}

} // namespace zc::cuda
