// cuDNN's calls on images as a table of functions, filled when the library is
// opened: convolutions and poolings. Its graphs, DnnGraph.h, have a table of
// their own.
#ifndef ZC_RUNTIME_DEVICE_CUDA_DNN_H
#define ZC_RUNTIME_DEVICE_CUDA_DNN_H

#include "runtime/Device/Cuda/Executables.h"

#include <cudnn.h>

namespace zc::cuda {

#define ZC_CUDNN_FUNCTIONS(F)                                                  \
  F(cudnnCreate)                                                               \
  F(cudnnDestroy)                                                              \
  F(cudnnSetStream)                                                            \
  F(cudnnGetErrorString)                                                       \
  F(cudnnCreateTensorDescriptor)                                               \
  F(cudnnDestroyTensorDescriptor)                                              \
  F(cudnnSetTensorNdDescriptor)                                                \
  F(cudnnCreateFilterDescriptor)                                               \
  F(cudnnDestroyFilterDescriptor)                                              \
  F(cudnnSetFilterNdDescriptor)                                                \
  F(cudnnCreateConvolutionDescriptor)                                          \
  F(cudnnDestroyConvolutionDescriptor)                                         \
  F(cudnnSetConvolutionNdDescriptor)                                           \
  F(cudnnSetConvolutionGroupCount)                                             \
  F(cudnnSetConvolutionMathType)                                               \
  F(cudnnGetConvolutionForwardAlgorithm_v7)                                    \
  F(cudnnGetConvolutionBackwardDataAlgorithm_v7)                               \
  F(cudnnGetConvolutionBackwardFilterAlgorithm_v7)                             \
  F(cudnnConvolutionForward)                                                   \
  F(cudnnConvolutionBackwardData)                                              \
  F(cudnnConvolutionBackwardFilter)                                            \
  F(cudnnCreatePoolingDescriptor)                                              \
  F(cudnnDestroyPoolingDescriptor)                                             \
  F(cudnnSetPoolingNdDescriptor)                                               \
  F(cudnnPoolingForward)

/// The table, a member per function, and the library's handle.
struct Dnn {
#define F(name) decltype(&::name) name = nullptr;
  ZC_CUDNN_FUNCTIONS(F)
#undef F
  cudnnHandle_t handle = nullptr;

  static Result<std::unique_ptr<Dnn>> open();
  Dnn() = default;
  Dnn(const Dnn &) = delete;
  ~Dnn();

  /// An error unless `status` is success: Unsupported for what the library does
  /// not compute, else Internal.
  Status check(cudnnStatus_t status, const char *call) const;

  static cudnnDataType_t dataType(kernels::ElementType type);
  /// Sizes as the library takes them.
  static std::vector<int> toInt(const std::vector<int64_t> &numbers);
};

/// Calls a function of the library and returns its error from this function.
#define ZC_DNN_CALL(dnn, name, ...)                                            \
  ZC_RETURN_IF_ERROR((dnn).check((dnn).name(__VA_ARGS__), #name))

/// A tensor's descriptor.
class DnnTensor {
public:
  explicit DnnTensor(const Dnn &dnn) : dnn(dnn) {}
  DnnTensor(const DnnTensor &) = delete;
  ~DnnTensor();

  Status describe(const kernels::StridedTensor &tensor);
  cudnnTensorDescriptor_t get() const { return descriptor; }

private:
  const Dnn &dnn;
  cudnnTensorDescriptor_t descriptor = nullptr;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_DNN_H
