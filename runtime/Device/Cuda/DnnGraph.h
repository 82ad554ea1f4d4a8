// A graph of cuDNN's operations, which one of its engines computes as a whole:
// tensors and operations are described one by one, then a plan is chosen
// (DnnPlans.h).
#ifndef ZC_RUNTIME_DEVICE_CUDA_DNNGRAPH_H
#define ZC_RUNTIME_DEVICE_CUDA_DNNGRAPH_H

#include "kernels/Spec.h"
#include "runtime/Device/Cuda/Dnn.h"

#include <deque>
#include <initializer_list>
#include <sstream>
#include <vector>

namespace zc::cuda {

/// Tensors are named by numbers, operations are given in an order in which they
/// can be computed. finish() reports the first error.
class DnnGraph {
public:
  using Tensor = int64_t;
  using Numbers = std::vector<int64_t>;
  using Descriptor = cudnnBackendDescriptor_t;

  /// How far the engines may change the numbers.
  enum class Rounding : uint8_t {
    Exact,      // products of float32 as they are, sums in a fixed order
    FixedOrder, // sums in a fixed order, where there is such an engine
    AnyOrder,
  };

  DnnGraph(const Dnn &dnn, Rounding rounding) : rounding(rounding), dnn(dnn) {
    form << int(rounding) << '|';
  }
  ~DnnGraph();
  DnnGraph(const DnnGraph &) = delete;

  /// Strides count elements, as dims do.
  Tensor inMemory(cudnnDataType_t type, const Numbers &dims,
                  const Numbers &strides, void *address);
  Tensor inMemory(const kernels::StridedTensor &tensor, void *address) {
    return inMemory(Dnn::dataType(tensor.type), tensor.dims, tensor.strides,
                    address);
  }
  /// The same at every run; `rank` is that of the tensors that it meets.
  Tensor scalar(float value, size_t rank = 4);
  /// A tensor that never is in memory.
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
  /// `grad` where `value` is above 0, and else 0.
  void reluBackward(Tensor grad, Tensor value, Tensor result);

  // For operations that a library call has to itself: a descriptor is created,
  // its attributes are set, it is finalized and, if it is an operation, added.
  Descriptor create(cudnnBackendDescriptorType_t type);
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
  /// Whole numbers as fractions.
  void setFractions(Descriptor descriptor, cudnnBackendAttributeName_t name,
                    const Numbers &values);
  void setTensor(Descriptor descriptor, cudnnBackendAttributeName_t name,
                 Tensor tensor);
  void finalize(Descriptor descriptor);
  void add(Descriptor operation);

  /// The graph's descriptor, or the error of the first call that failed.
  Result<Descriptor> finish();

  /// Graphs of one form have the same plans; addresses are no part of it.
  std::string getForm() const { return form.str(); }

  /// The tensors' numbers and addresses for a run.
  Result<Descriptor> pack(void *workspace);

  const Rounding rounding;

private:
  static int64_t idOf(Tensor tensor) { return tensor + 1; }
  Descriptor createPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute,
                             int64_t axis);
  void note(cudnnStatus_t result, const char *call);
  Tensor describe(cudnnDataType_t type, const Numbers &dims,
                  const Numbers &strides, bool isVirtual, bool isByValue,
                  void *address);

  const Dnn &dnn;
  Status status; // of the first call that failed
  std::ostringstream form;
  std::vector<Descriptor> all, tensors, operations;
  std::vector<void *> addresses; // by tensor, null for temporaries
  std::deque<float> scalars;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_DNNGRAPH_H
