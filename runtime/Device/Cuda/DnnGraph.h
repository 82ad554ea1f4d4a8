// A graph of cuDNN's operations, which one of its engines computes as a whole:
// tensors and operations are described one by one, then a plan is chosen.
#ifndef ZC_RUNTIME_DEVICE_CUDA_DNNGRAPH_H
#define ZC_RUNTIME_DEVICE_CUDA_DNNGRAPH_H

#include "kernels/Spec.h"
#include "runtime/Base/Status.h"

#include <cuda.h>
#include <cudnn_graph.h>
#include <deque>
#include <initializer_list>
#include <vector>

namespace zc::cuda {

#define ZC_CUDNN_GRAPH_FUNCTIONS(F)                                            \
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

/// cuDNN's graph functions, and a handle to call them with.
struct DnnBackend {
#define F(name) decltype(&::name) name = nullptr;
  ZC_CUDNN_GRAPH_FUNCTIONS(F)
#undef F
  cudnnHandle_t handle = nullptr;

  DnnBackend() = default;
  DnnBackend(const DnnBackend &) = delete;
  ~DnnBackend();

  Status open();
  Status check(cudnnStatus_t status, const char *call) const;
};

/// Tensors are named by numbers, operations are given in an order in which they
/// can be computed. What goes wrong on the way build() reports.
class DnnGraph {
public:
  using Tensor = int64_t;
  using Numbers = std::vector<int64_t>;

  explicit DnnGraph(const DnnBackend &dnn) : dnn(dnn) {}
  ~DnnGraph();
  DnnGraph(const DnnGraph &) = delete;

  /// Strides count elements, as dims do.
  Tensor inMemory(cudnnDataType_t type, const Numbers &dims,
                  const Numbers &strides, void *address);
  /// One dim of 1, the same at every run.
  Tensor scalar(float value);
  /// What never is in memory.
  Tensor temporary(cudnnDataType_t type, const Numbers &dims,
                   const Numbers &strides);

  /// `inputs`: one or two, and the predicate of a selection.
  void pointwise(cudnnPointwiseMode_t mode,
                 std::initializer_list<Tensor> inputs, Tensor result,
                 cudnnDataType_t compute = CUDNN_DATA_FLOAT, int64_t axis = -1);
  void reduce(cudnnReduceTensorOp_t kind, Tensor input, Tensor result);
  void multiply(Tensor lhs, Tensor rhs, Tensor result);
  /// The same memory seen with other dims and strides.
  void reshape(Tensor input, Tensor result);

  /// Chooses the library's first plan that `workspaceBytes` suffice for;
  /// Unsupported where it has none.
  Status build(void *workspace, uint64_t workspaceBytes);

  Status enqueue(CUstream stream) const;

private:
  using Descriptor = cudnnBackendDescriptor_t;

  static int64_t idOf(Tensor tensor) { return tensor + 1; }
  Descriptor create(cudnnBackendDescriptorType_t type, const char *what);
  void set(Descriptor descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, int64_t count, const void *values);
  template <typename T>
  void set(Descriptor descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, const T &value) {
    set(descriptor, name, type, 1, &value);
  }
  void set(Descriptor descriptor, cudnnBackendAttributeName_t name,
           const Numbers &values) {
    set(descriptor, name, CUDNN_TYPE_INT64, int64_t(values.size()),
        values.data());
  }
  void setTensor(Descriptor descriptor, cudnnBackendAttributeName_t name,
                 Tensor tensor) {
    set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        tensors[size_t(tensor)]);
  }
  void finalize(Descriptor descriptor);
  void note(cudnnStatus_t result, const char *call);
  Descriptor describe(cudnnDataType_t type, const Numbers &dims,
                      const Numbers &strides, bool isVirtual, bool isByValue);
  Tensor add(Descriptor descriptor, void *address);

  Status choose(Descriptor operations, uint64_t workspaceBytes);
  Result<std::vector<Descriptor>> rank(Descriptor operations,
                                       cudnnBackendHeurMode_t mode);
  Result<uint64_t> plan(Descriptor engine);
  void pack(void *workspace);

  const DnnBackend &dnn;
  Status status; // of the first call that failed
  std::vector<Descriptor> all, tensors, operations;
  std::vector<void *> addresses; // by tensor, null for temporaries
  std::deque<float> scalars;
  Descriptor chosen = nullptr, variant = nullptr;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_DNNGRAPH_H
