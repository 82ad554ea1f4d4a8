#include "runtime/Device/Cuda/DnnGraph.h"

namespace zc::cuda {

static int64_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_BOOLEAN:
    return sizeof(bool);
  case CUDNN_TYPE_INT64:
    return sizeof(int64_t);
  case CUDNN_TYPE_FRACTION:
    return sizeof(cudnnFraction_t);
  default: // float, and enumerations
    return 4;
  }
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

DnnGraph::~DnnGraph() {
  for (Descriptor descriptor : all)
    dnn.cudnnBackendDestroyDescriptor(descriptor);
}

void DnnGraph::note(cudnnStatus_t result, const char *call) {
  if (status.ok())
    status = dnn.check(result, call);
}

DnnGraph::Descriptor DnnGraph::create(cudnnBackendDescriptorType_t type) {
  Descriptor descriptor = nullptr;
  note(dnn.cudnnBackendCreateDescriptor(type, &descriptor),
       "cudnnBackendCreateDescriptor");
  if (descriptor)
    all.push_back(descriptor);
  form << '\n' << int(type);
  return descriptor;
}

/// Numbers are part of the graph's form; descriptors and tensors are by what is
/// set in them and by setTensor().
void DnnGraph::set(Descriptor descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t count,
                   const void *values) {
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR && type != CUDNN_TYPE_HANDLE &&
      type != CUDNN_TYPE_VOID_PTR) {
    form << ' ' << int(name) << ':';
    form.write(static_cast<const char *>(values), count * sizeOf(type));
  }
  if (status.ok())
    note(dnn.cudnnBackendSetAttribute(descriptor, name, type, count, values),
         "cudnnBackendSetAttribute");
}

void DnnGraph::setFractions(Descriptor descriptor,
                            cudnnBackendAttributeName_t name,
                            const Numbers &values) {
  std::vector<cudnnFraction_t> fractions;
  for (int64_t value : values)
    fractions.push_back({value, 1});
  set(descriptor, name, CUDNN_TYPE_FRACTION, int64_t(fractions.size()),
      fractions.data());
}

void DnnGraph::setTensor(Descriptor descriptor,
                         cudnnBackendAttributeName_t name, Tensor tensor) {
  form << ' ' << int(name) << '=' << tensor;
  set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, tensors[size_t(tensor)]);
}

void DnnGraph::finalize(Descriptor descriptor) {
  if (status.ok())
    note(dnn.cudnnBackendFinalize(descriptor), "cudnnBackendFinalize");
}

void DnnGraph::add(Descriptor operation) {
  finalize(operation);
  operations.push_back(operation);
}

DnnGraph::Tensor DnnGraph::describe(cudnnDataType_t type, const Numbers &dims,
                                    const Numbers &strides, bool isVirtual,
                                    bool isByValue, void *address) {
  constexpr int64_t kAlignment = 16;
  Descriptor tensor = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  int64_t id = idOf(Tensor(tensors.size()));
  set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  set(tensor, CUDNN_ATTR_TENSOR_STRIDES, strides);
  set(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, isVirtual);
  set(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, isByValue);
  finalize(tensor);
  tensors.push_back(tensor);
  addresses.push_back(address);
  return Tensor(tensors.size()) - 1;
}

DnnGraph::Tensor DnnGraph::inMemory(cudnnDataType_t type, const Numbers &dims,
                                    const Numbers &strides, void *address) {
  return describe(type, dims, strides, false, false, address);
}

DnnGraph::Tensor DnnGraph::scalar(float value, size_t rank) {
  scalars.push_back(value);
  const Numbers ones(rank, 1);
  return describe(CUDNN_DATA_FLOAT, ones, ones, false, true, &scalars.back());
}

DnnGraph::Tensor DnnGraph::temporary(cudnnDataType_t type, const Numbers &dims,
                                     const Numbers &strides) {
  return describe(type, dims, strides, true, false, nullptr);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The operation without its tensors.
DnnGraph::Descriptor DnnGraph::createPointwise(cudnnPointwiseMode_t mode,
                                               cudnnDataType_t compute,
                                               int64_t axis) {
  Descriptor kind = create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  set(kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute);
  if (axis >= 0)
    set(kind, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  // Generated kernels do the same; in float16, NaN tells of an overflow.
  if (mode == CUDNN_POINTWISE_RELU_FWD)
    set(kind, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
        CUDNN_PROPAGATE_NAN);
  finalize(kind);
  Descriptor op = create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
      CUDNN_TYPE_BACKEND_DESCRIPTOR, kind);
  return op;
}

void DnnGraph::pointwise(cudnnPointwiseMode_t mode,
                         std::initializer_list<Tensor> inputs, Tensor result,
                         cudnnDataType_t compute, int64_t axis) {
  Descriptor op = createPointwise(mode, compute, axis);
  const cudnnBackendAttributeName_t names[] = {
      CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  size_t next = 0;
  for (Tensor input : inputs)
    setTensor(op, names[next++], input);
  setTensor(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
  add(op);
}

void DnnGraph::reduce(cudnnReduceTensorOp_t kind, Tensor input, Tensor result) {
  Descriptor reduction = create(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  set(reduction, CUDNN_ATTR_REDUCTION_OPERATOR,
      CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, kind);
  set(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
      CUDNN_DATA_FLOAT);
  finalize(reduction);
  Descriptor op = create(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      reduction);
  setTensor(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, input);
  setTensor(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
  add(op);
}

void DnnGraph::multiply(Tensor lhs, Tensor rhs, Tensor result) {
  Descriptor product = create(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  set(product, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
      CUDNN_DATA_FLOAT);
  finalize(product);
  Descriptor op = create(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      product);
  setTensor(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, lhs);
  setTensor(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, rhs);
  setTensor(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, result);
  add(op);
}

void DnnGraph::reshape(Tensor input, Tensor result) {
  Descriptor op = create(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  setTensor(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, input);
  setTensor(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result);
  add(op);
}

void DnnGraph::reluBackward(Tensor grad, Tensor value, Tensor result) {
  Descriptor op =
      createPointwise(CUDNN_POINTWISE_RELU_BWD, CUDNN_DATA_FLOAT, -1);
  setTensor(op, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, grad);
  setTensor(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, value);
  setTensor(op, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, result);
  add(op);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

Result<DnnGraph::Descriptor> DnnGraph::finish() {
  Descriptor graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      int64_t(operations.size()), operations.data());
  if (dnn.handle)
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, dnn.handle);
  finalize(graph);
  ZC_RETURN_IF_ERROR(status);
  return graph;
}

Result<DnnGraph::Descriptor> DnnGraph::pack(void *workspace) {
  Numbers ids;
  std::vector<void *> places;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (addresses[i]) {
      ids.push_back(idOf(Tensor(i)));
      places.push_back(addresses[i]);
    }
  Descriptor variant = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(variant, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  set(variant, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
      int64_t(places.size()), places.data());
  set(variant, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
      workspace);
  finalize(variant);
  ZC_RETURN_IF_ERROR(status);
  return variant;
}

} // namespace zc::cuda
