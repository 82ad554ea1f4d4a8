// The parts of the fake of cuDNN's graphs: descriptors as the library takes
// them, and their meaning.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNGRAPH_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNGRAPH_H

#include "test/unit/runtime/Device/Cuda/FakeDnnImages.h"

#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace zc::test {

using Numbers = std::vector<int64_t>;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> values;
  bool finalized = false;
  int engine = 0; // of a configuration, an engine or a plan

  bool has(cudnnBackendAttributeName_t name) const {
    return values.count(name) > 0;
  }
  template <typename T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const std::vector<char> &bytes = values.at(name);
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  template <typename T> T get(cudnnBackendAttributeName_t name) const {
    T value;
    std::memcpy(&value, values.at(name).data(), sizeof(value));
    return value;
  }
  const Descriptor &part(cudnnBackendAttributeName_t name) const {
    return *static_cast<Descriptor *>(get<cudnnBackendDescriptor_t>(name));
  }
};

inline Descriptor &at(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<Descriptor *>(descriptor);
}

inline size_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_INT64:
    return sizeof(int64_t);
  case CUDNN_TYPE_FRACTION:
    return sizeof(cudnnFraction_t);
  case CUDNN_TYPE_CHAR:
    return 1;
  case CUDNN_TYPE_BOOLEAN:
    return sizeof(bool);
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return sizeof(void *);
  default:
    return sizeof(int); // enumerations
  }
}

struct GraphTensor {
  int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Numbers dims, strides;
  bool isVirtual = false, isByValue = false;

  static GraphTensor of(const Descriptor &from) {
    return {from.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID),
            from.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
            from.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
            from.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES),
            from.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL),
            from.get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE)};
  }

  int64_t count() const {
    int64_t product = 1;
    for (int64_t dim : dims)
      product *= dim;
    return product;
  }
  /// The indices of an element in the dims' order.
  Numbers indices(int64_t element) const {
    Numbers result(dims.size());
    for (size_t i = dims.size(); i > 0; --i) {
      result[i - 1] = element % dims[i - 1];
      element /= dims[i - 1];
    }
    return result;
  }
  int64_t offset(const Numbers &indices) const {
    int64_t sum = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      sum += indices[i] * strides[i];
    return sum;
  }
  /// The element at a place of a tensor that this one is repeated along.
  int64_t elementAt(const Numbers &indices) const {
    int64_t element = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      element = element * dims[i] + (dims[i] == 1 ? 0 : indices[i]);
    return element;
  }
  bool isSixteenBits() const {
    return type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
  }
  std::string print() const {
    std::ostringstream text;
    text << id << "[";
    for (size_t i = 0; i < dims.size(); ++i)
      text << (i ? "," : "") << dims[i];
    text << "]"
         << (type == CUDNN_DATA_FLOAT      ? "f32"
             : type == CUDNN_DATA_HALF     ? "f16"
             : type == CUDNN_DATA_BFLOAT16 ? "bf16"
             : type == CUDNN_DATA_INT32    ? "i32"
                                           : "i1");
    if (!isVirtual && !isByValue)
      for (size_t i = 0; i < strides.size(); ++i)
        text << (i ? "," : "@") << strides[i];
    return text.str();
  }
};

struct Operation {
  cudnnBackendDescriptorType_t type =
      CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR;
  int mode = 0; // of a pointwise operation or a reduction; a norm's phase
  int64_t axis = -1;
  double beta = 0; // a convolution's result is added to so many of itself
  bool propagatesNan = false; // of a ReLU, whose result is 0 otherwise
  std::vector<GraphTensor> inputs;
  GraphTensor result;
  std::vector<GraphTensor> perChannel; // a norm's other results
  Windows windows;                     // of a convolution or a pooling

  static Operation of(const Descriptor &from);
  std::string print() const;

  bool isConvolution() const {
    return type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
           type ==
               CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
           type ==
               CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
  }

  bool isPooling() const {
    return type == CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR ||
           type == CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR;
  }

  /// A batch norm with the batch's moments; with given ones; its gradient.
  bool isTrainingNorm() const {
    return type == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR &&
           mode == CUDNN_NORM_FWD_TRAINING;
  }
  bool isGivenNorm() const {
    return type == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR &&
           mode == CUDNN_NORM_FWD_INFERENCE;
  }
  bool isNormGradient() const {
    return type == CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR;
  }

private:
  void takePointwise(const Descriptor &from);
  /// Reads a convolution: its operands in the order source, filter,
  /// destination, its windows and `beta`; the operand at `result` is computed.
  void takeConvolution(const Descriptor &from,
                       const cudnnBackendAttributeName_t (&names)[5],
                       size_t result);
  /// Names of the tensor that is given, the one that is made, the windows.
  void takePooling(const Descriptor &from,
                   const cudnnBackendAttributeName_t (&names)[3]);
  /// Inputs are image, scale, bias and epsilon, or mean and inverse deviation;
  /// of the gradient: image, scale, mean, inverse deviation, gradient.
  void takeNorm(const Descriptor &from);
  void takeNormGradient(const Descriptor &from);
};

/// The operations of a graph's descriptor.
std::vector<Operation> operationsOf(const Descriptor &graph);

/// Whether one of the fake's engines computes them.
bool isSupported(const std::vector<Operation> &operations);

/// Whether every value is computed before it is read, and shapes agree.
bool isSound(const std::vector<Operation> &operations);

/// Computes the operations one by one, on doubles that are rounded to each
/// tensor's type. `memory`: addresses by the tensors' numbers.
void computeGraph(const std::vector<Operation> &operations,
                  const std::map<int64_t, void *> &memory);

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNGRAPH_H
