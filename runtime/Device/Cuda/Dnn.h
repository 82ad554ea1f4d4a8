// cuDNN's graph functions as a table, filled when the library is opened, and
// the GPU that plans are made for.
#ifndef ZC_RUNTIME_DEVICE_CUDA_DNN_H
#define ZC_RUNTIME_DEVICE_CUDA_DNN_H

#include "kernels/Spec.h"
#include "runtime/Base/Status.h"

#include <cudnn_graph.h>
#include <memory>
#include <string>

namespace zc::cuda {

#define ZC_CUDNN_FUNCTIONS(F)                                                  \
  F(cudnnCreate)                                                               \
  F(cudnnDestroy)                                                              \
  F(cudnnSetStream)                                                            \
  F(cudnnGetErrorString)                                                       \
  F(cudnnGetLastErrorString)                                                   \
  F(cudnnGetVersion)                                                           \
  F(cudnnBackendCreateDescriptor)                                              \
  F(cudnnBackendDestroyDescriptor)                                             \
  F(cudnnBackendSetAttribute)                                                  \
  F(cudnnBackendGetAttribute)                                                  \
  F(cudnnBackendFinalize)                                                      \
  F(cudnnBackendExecute)

struct Dnn {
#define F(name) decltype(&::name) name = nullptr;
  ZC_CUDNN_FUNCTIONS(F)
#undef F
  /// The handle of the GPU at hand; or else the description of a GPU, for which
  /// plans are made but not run.
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t described = nullptr;
  /// Why it can compile no kernels of its own, which many engines do; empty
  /// where it can.
  std::string lack;

  static Result<std::unique_ptr<Dnn>> open();
  /// `properties`: a GPU's, as the library writes them (JSON, from version 9.8
  /// on). Needs no GPU, and of the driver no more than that it can be opened.
  static Result<std::unique_ptr<Dnn>>
  openDescribed(const std::string &properties);
  Dnn() = default;
  Dnn(const Dnn &) = delete;
  ~Dnn();

  /// An error unless `status` is success: Unsupported for what the library does
  /// not compute, else Internal.
  Status check(cudnnStatus_t status, const char *call) const;

  /// "9.19.0".
  std::string printVersion() const;

  static cudnnDataType_t dataType(kernels::ElementType type);

private:
  Status load();
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_DNN_H
