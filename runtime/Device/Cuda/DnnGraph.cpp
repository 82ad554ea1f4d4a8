#include "runtime/Device/Cuda/DnnGraph.h"
#include "runtime/Device/Cuda/Library.h"

#include <algorithm>
#include <array>

namespace zc::cuda {

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

DnnBackend::~DnnBackend() {
  if (handle)
    cudnnDestroy(handle);
}

Status DnnBackend::open() {
  const std::string name = "libcudnn.so.9";
  ZC_ASSIGN_OR_RETURN(void *library, openLibrary(name));
  Status found = findSymbols(library, name,
                             {
#define F(name) {#name, reinterpret_cast<void **>(&name)},
                                 ZC_CUDNN_GRAPH_FUNCTIONS(F)
#undef F
                             });
  ZC_RETURN_IF_ERROR(found);
  return check(cudnnCreate(&handle), "cudnnCreate");
}

Status DnnBackend::check(cudnnStatus_t status, const char *call) const {
  if (status == CUDNN_STATUS_SUCCESS)
    return Status();
  std::array<char, 512> why = {};
  cudnnGetLastErrorString(why.data(), why.size());
  bool lacks = CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
  return makeError(lacks ? StatusCode::Unsupported : StatusCode::Internal, call,
                   ": ", cudnnGetErrorString(status), why[0] ? ": " : "",
                   why.data());
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

DnnGraph::Descriptor DnnGraph::create(cudnnBackendDescriptorType_t type,
                                      const char *what) {
  Descriptor descriptor = nullptr;
  note(dnn.cudnnBackendCreateDescriptor(type, &descriptor), what);
  if (descriptor)
    all.push_back(descriptor);
  return descriptor;
}

void DnnGraph::set(Descriptor descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t count,
                   const void *values) {
  if (status.ok())
    note(dnn.cudnnBackendSetAttribute(descriptor, name, type, count, values),
         "cudnnBackendSetAttribute");
}

void DnnGraph::finalize(Descriptor descriptor) {
  if (status.ok())
    note(dnn.cudnnBackendFinalize(descriptor), "cudnnBackendFinalize");
}

DnnGraph::Descriptor DnnGraph::describe(cudnnDataType_t type,
                                        const Numbers &dims,
                                        const Numbers &strides, bool isVirtual,
                                        bool isByValue) {
  constexpr int64_t kAlignment = 16;
  Descriptor tensor = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor");
  int64_t id = idOf(Tensor(tensors.size()));
  set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  set(tensor, CUDNN_ATTR_TENSOR_STRIDES, strides);
  set(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, isVirtual);
  set(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, isByValue);
  finalize(tensor);
  return tensor;
}

DnnGraph::Tensor DnnGraph::add(Descriptor descriptor, void *address) {
  tensors.push_back(descriptor);
  addresses.push_back(address);
  return Tensor(tensors.size()) - 1;
}

DnnGraph::Tensor DnnGraph::inMemory(cudnnDataType_t type, const Numbers &dims,
                                    const Numbers &strides, void *address) {
  return add(describe(type, dims, strides, false, false), address);
}

DnnGraph::Tensor DnnGraph::scalar(float value) {
  scalars.push_back(value);
  const Numbers one = {1};
  return add(describe(CUDNN_DATA_FLOAT, one, one, false, true),
             &scalars.back());
}

DnnGraph::Tensor DnnGraph::temporary(cudnnDataType_t type, const Numbers &dims,
                                     const Numbers &strides) {
  return add(describe(type, dims, strides, true, false), nullptr);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void DnnGraph::pointwise(cudnnPointwiseMode_t mode,
                         std::initializer_list<Tensor> inputs, Tensor result,
                         cudnnDataType_t compute, int64_t axis) {
  Descriptor kind = create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "pointwise");
  set(kind, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  set(kind, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute);
  if (axis >= 0)
    set(kind, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  finalize(kind);
  Descriptor op =
      create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise");
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
      CUDNN_TYPE_BACKEND_DESCRIPTOR, kind);
  const cudnnBackendAttributeName_t names[] = {
      CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  size_t next = 0;
  for (Tensor input : inputs)
    setTensor(op, names[next++], input);
  setTensor(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
  finalize(op);
  operations.push_back(op);
}

void DnnGraph::reduce(cudnnReduceTensorOp_t kind, Tensor input, Tensor result) {
  Descriptor reduction =
      create(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "reduction");
  set(reduction, CUDNN_ATTR_REDUCTION_OPERATOR,
      CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, kind);
  set(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
      CUDNN_DATA_FLOAT);
  finalize(reduction);
  Descriptor op =
      create(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "reduction");
  set(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      reduction);
  setTensor(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, input);
  setTensor(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
  finalize(op);
  operations.push_back(op);
}

void DnnGraph::multiply(Tensor lhs, Tensor rhs, Tensor result) {
  Descriptor product = create(CUDNN_BACKEND_MATMUL_DESCRIPTOR, "matmul");
  set(product, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
      CUDNN_DATA_FLOAT);
  finalize(product);
  Descriptor op = create(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "matmul");
  set(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      product);
  setTensor(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, lhs);
  setTensor(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, rhs);
  setTensor(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, result);
  finalize(op);
  operations.push_back(op);
}

void DnnGraph::reshape(Tensor input, Tensor result) {
  Descriptor op = create(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, "reshape");
  setTensor(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, input);
  setTensor(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result);
  finalize(op);
  operations.push_back(op);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

Status DnnGraph::build(void *workspace, uint64_t workspaceBytes) {
  Descriptor graph =
      create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph");
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      int64_t(operations.size()), operations.data());
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, dnn.handle);
  finalize(graph);
  ZC_RETURN_IF_ERROR(status);
  ZC_RETURN_IF_ERROR(choose(graph, workspaceBytes));
  pack(workspace);
  return status;
}

/// All engines that the library knows for the graph, in its order: by its model
/// of this GPU, by its simpler one, then those of last resort. One without a
/// plan, or whose plan needs more workspace, is passed over.
Status DnnGraph::choose(Descriptor graph, uint64_t workspaceBytes) {
  uint64_t least = UINT64_MAX;
  size_t tried = 0;
  for (cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    Result<std::vector<Descriptor>> engines = rank(graph, mode);
    bool lacks = engines.status().code() == StatusCode::Unsupported;
    if (!engines.ok() && mode == CUDNN_HEUR_MODE_A && !lacks)
      return engines.status();
    if (!engines.ok()) // not every graph has every ranking
      continue;
    for (Descriptor engine : *engines) {
      Result<uint64_t> bytes = plan(engine);
      if (bytes.ok() && *bytes <= workspaceBytes)
        return Status();
      if (bytes.ok())
        least = std::min(least, *bytes);
      ++tried;
    }
  }
  if (least != UINT64_MAX)
    return makeError(StatusCode::Unsupported, "cuDNN's plans need ", least,
                     " bytes of workspace at least, and ", workspaceBytes,
                     " are planned");
  return makeError(StatusCode::Unsupported, "none of cuDNN's ", tried,
                   " engines has a plan");
}

/// The engines by one of the library's rankings.
Result<std::vector<DnnGraph::Descriptor>>
DnnGraph::rank(Descriptor graph, cudnnBackendHeurMode_t mode) {
  Descriptor ranking =
      create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristics");
  set(ranking, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
      CUDNN_TYPE_BACKEND_DESCRIPTOR, graph);
  set(ranking, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  ZC_RETURN_IF_ERROR(status);
  ZC_RETURN_IF_ERROR(
      dnn.check(dnn.cudnnBackendFinalize(ranking), "cudnnBackendFinalize"));
  int64_t count = 0;
  ZC_RETURN_IF_ERROR(dnn.check(
      dnn.cudnnBackendGetAttribute(ranking, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                                   nullptr),
      "cudnnBackendGetAttribute"));
  std::vector<Descriptor> engines;
  for (int64_t i = 0; i < count; ++i)
    engines.push_back(create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine"));
  ZC_RETURN_IF_ERROR(status);
  if (count > 0)
    ZC_RETURN_IF_ERROR(dnn.check(
        dnn.cudnnBackendGetAttribute(ranking, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                                     &count, engines.data()),
        "cudnnBackendGetAttribute"));
  engines.resize(size_t(count));
  return engines;
}

/// Makes the engine's plan the chosen one and returns its workspace.
Result<uint64_t> DnnGraph::plan(Descriptor engine) {
  chosen = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "plan");
  set(chosen, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, dnn.handle);
  set(chosen, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
      CUDNN_TYPE_BACKEND_DESCRIPTOR, engine);
  ZC_RETURN_IF_ERROR(status);
  ZC_RETURN_IF_ERROR(
      dnn.check(dnn.cudnnBackendFinalize(chosen), "cudnnBackendFinalize"));
  int64_t bytes = 0, count = 0;
  ZC_RETURN_IF_ERROR(dnn.check(
      dnn.cudnnBackendGetAttribute(chosen,
                                   CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                   CUDNN_TYPE_INT64, 1, &count, &bytes),
      "cudnnBackendGetAttribute"));
  return uint64_t(bytes);
}

void DnnGraph::pack(void *workspace) {
  Numbers ids;
  std::vector<void *> places;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (addresses[i]) {
      ids.push_back(idOf(Tensor(i)));
      places.push_back(addresses[i]);
    }
  variant = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "variant pack");
  set(variant, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  set(variant, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
      int64_t(places.size()), places.data());
  set(variant, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
      workspace);
  finalize(variant);
}

Status DnnGraph::enqueue(CUstream stream) const {
  ZC_RETURN_IF_ERROR(dnn.check(
      dnn.cudnnSetStream(dnn.handle, reinterpret_cast<cudaStream_t>(stream)),
      "cudnnSetStream"));
  return dnn.check(dnn.cudnnBackendExecute(dnn.handle, chosen, variant),
                   "cudnnBackendExecute");
}

} // namespace zc::cuda
