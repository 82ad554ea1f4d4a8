#include "runtime/Device/Cuda/Dnn.h"
#include "runtime/Device/Cuda/Library.h"

#include <array>

namespace zc::cuda {

Dnn::~Dnn() {
  if (described)
    cudnnBackendDestroyDescriptor(described);
  if (handle)
    cudnnDestroy(handle);
}

Status Dnn::load() {
  // The library opens these by name alone, and finds them where they are open
  // already: not all versions look in the folders of PyPI's packages.
  Result<void *> compiler = openLibrary("libnvrtc.so.13");
  if (!compiler.ok())
    lack = compiler.status().message();
  (void)openLibrary("libcublasLt.so.13").ok();
  const std::string name = "libcudnn.so.9";
  ZC_ASSIGN_OR_RETURN(void *library, openLibrary(name));
  Status found = findSymbols(library, name,
                             {
#define F(name) {#name, reinterpret_cast<void **>(&name)},
                                 ZC_CUDNN_FUNCTIONS(F)
#undef F
                             });
  return found;
}

Result<std::unique_ptr<Dnn>> Dnn::open() {
  auto dnn = std::make_unique<Dnn>();
  ZC_RETURN_IF_ERROR(dnn->load());
  ZC_RETURN_IF_ERROR(dnn->check(dnn->cudnnCreate(&dnn->handle), "cudnnCreate"));
  return dnn;
}

Result<std::unique_ptr<Dnn>> Dnn::openDescribed(const std::string &properties) {
  auto dnn = std::make_unique<Dnn>();
  ZC_RETURN_IF_ERROR(dnn->load());
  ZC_RETURN_IF_ERROR(
      dnn->check(dnn->cudnnBackendCreateDescriptor(
                     CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &dnn->described),
                 "cudnnBackendCreateDescriptor"));
  ZC_RETURN_IF_ERROR(dnn->check(
      dnn->cudnnBackendSetAttribute(
          dnn->described, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
          CUDNN_TYPE_CHAR, int64_t(properties.size()), properties.data()),
      "cudnnBackendSetAttribute"));
  ZC_RETURN_IF_ERROR(dnn->check(dnn->cudnnBackendFinalize(dnn->described),
                                "cudnnBackendFinalize"));
  return dnn;
}

static StatusCode codeOf(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    return StatusCode::ResourceExhausted;
  bool lacks = CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
  return lacks ? StatusCode::Unsupported : StatusCode::Internal;
}

Status Dnn::check(cudnnStatus_t status, const char *call) const {
  if (status == CUDNN_STATUS_SUCCESS)
    return Status();
  std::array<char, 512> why = {};
  cudnnGetLastErrorString(why.data(), why.size());
  return makeError(codeOf(status), call, ": ", cudnnGetErrorString(status),
                   why[0] ? ": " : "", why.data());
}

std::string Dnn::printVersion() const {
  size_t version = cudnnGetVersion();
  return strCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
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

} // namespace zc::cuda
