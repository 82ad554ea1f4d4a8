// A stand-in for cuDNN's graphs: descriptors as the library takes them, and an
// engine that computes the operations of a graph one by one, on doubles that
// are rounded to each tensor's type. It writes down the operations of every
// graph.
#include "test/unit/runtime/Device/Cuda/FakeArray.h"
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cudnn_graph.h>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

namespace {

using Numbers = std::vector<int64_t>;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> values;
  bool finalized = false;
  int engine = 0; // its place among all

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

Descriptor &at(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<Descriptor *>(descriptor);
}

size_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_INT64:
    return sizeof(int64_t);
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
  int mode = 0; // of a pointwise operation or a reduction
  int64_t axis = -1;
  std::vector<GraphTensor> inputs;
  GraphTensor result;

  static Operation of(const Descriptor &from);
  std::string print() const;
};

Operation Operation::of(const Descriptor &from) {
  Operation op;
  op.type = from.type;
  auto take = [&](cudnnBackendAttributeName_t name) {
    if (from.has(name))
      op.inputs.push_back(GraphTensor::of(from.part(name)));
  };
  switch (from.type) {
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: {
    const Descriptor &kind =
        from.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    op.mode = kind.get<int>(CUDNN_ATTR_POINTWISE_MODE);
    if (kind.has(CUDNN_ATTR_POINTWISE_AXIS))
      op.axis = kind.get<int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
    take(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    take(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    take(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    op.result =
        GraphTensor::of(from.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    break;
  }
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    op.mode = from.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                  .get<int>(CUDNN_ATTR_REDUCTION_OPERATOR);
    take(CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    op.result =
        GraphTensor::of(from.part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
    break;
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    take(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    take(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    op.result = GraphTensor::of(from.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
    break;
  default:
    take(CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    op.result = GraphTensor::of(from.part(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
  }
  return op;
}

std::string Operation::print() const {
  std::ostringstream text;
  switch (type) {
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    text << "pointwise " << mode;
    break;
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    text << "reduce " << mode;
    break;
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    text << "matmul";
    break;
  default:
    text << "reshape";
  }
  for (const GraphTensor &input : inputs)
    text << " " << input.print();
  text << " -> " << result.print();
  return text.str();
}

//===----------------------------------------------------------------------===//
// Computing
//===----------------------------------------------------------------------===//

using Elements = std::vector<double>; // in the order of the dims

class Engine {
public:
  Engine(std::vector<Operation> operations, std::map<int64_t, void *> memory)
      : operations(std::move(operations)), memory(std::move(memory)) {}

  void run() {
    for (const Operation &op : operations)
      write(op.result, compute(op));
  }

private:
  static zc::test::Type typeOf(const GraphTensor &tensor) {
    return tensor.type == CUDNN_DATA_HALF       ? zc::test::Type::F16
           : tensor.type == CUDNN_DATA_BFLOAT16 ? zc::test::Type::BF16
                                                : zc::test::Type::F32;
  }

  Elements read(const GraphTensor &tensor) {
    if (tensor.isVirtual)
      return values.at(tensor.id);
    zc::test::Array array =
        zc::test::arrayOf(typeOf(tensor), memory.at(tensor.id));
    Elements result;
    for (int64_t i = 0; i < tensor.count(); ++i)
      result.push_back(array.get(tensor.offset(tensor.indices(i))));
    return result;
  }

  void write(const GraphTensor &tensor, const Elements &elements) {
    // Values that never are in memory have their type's precision all the same.
    std::vector<float> scratch(elements.size());
    zc::test::Array array = zc::test::arrayOf(
        typeOf(tensor),
        tensor.isVirtual ? scratch.data() : memory.at(tensor.id));
    Elements &kept = values[tensor.id];
    kept.clear();
    for (int64_t i = 0; i < tensor.count(); ++i) {
      int64_t place = tensor.isVirtual ? i : tensor.offset(tensor.indices(i));
      array.set(place, elements[size_t(i)]);
      kept.push_back(array.get(place));
    }
  }

  Elements compute(const Operation &op) {
    switch (op.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return multiply(op);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return reduce(op);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return reshape(op);
    default:
      return pointwise(op);
    }
  }

  Elements multiply(const Operation &op) {
    Elements a = read(op.inputs[0]), b = read(op.inputs[1]), result;
    int64_t terms = op.inputs[0].dims[3];
    for (int64_t i = 0; i < op.result.count(); ++i) {
      Numbers place = op.result.indices(i);
      double sum = 0;
      for (int64_t k = 0; k < terms; ++k)
        sum += a[size_t(
                   op.inputs[0].elementAt({place[0], place[1], place[2], k}))] *
               b[size_t(
                   op.inputs[1].elementAt({place[0], place[1], k, place[3]}))];
      result.push_back(sum);
    }
    return result;
  }

  Elements reduce(const Operation &op) {
    bool isSum = op.mode == CUDNN_REDUCE_TENSOR_ADD;
    Elements input = read(op.inputs[0]);
    Elements result(size_t(op.result.count()),
                    isSum ? 0 : -std::numeric_limits<double>::infinity());
    for (int64_t i = 0; i < op.inputs[0].count(); ++i) {
      double &sum =
          result[size_t(op.result.elementAt(op.inputs[0].indices(i)))];
      sum = isSum ? sum + input[size_t(i)] : std::max(sum, input[size_t(i)]);
    }
    return result;
  }

  /// The same memory in another order: a value that is in none lies in the
  /// order of its dims.
  Elements reshape(const Operation &op) {
    const GraphTensor &from = op.inputs[0];
    std::map<int64_t, double> byOffset;
    Elements input = read(from), result;
    for (int64_t i = 0; i < from.count(); ++i)
      byOffset[from.offset(from.indices(i))] = input[size_t(i)];
    for (int64_t i = 0; i < op.result.count(); ++i)
      result.push_back(byOffset.at(op.result.offset(op.result.indices(i))));
    return result;
  }

  Elements pointwise(const Operation &op) {
    std::vector<Elements> inputs;
    for (const GraphTensor &input : op.inputs)
      inputs.push_back(read(input));
    Elements result;
    for (int64_t i = 0; i < op.result.count(); ++i) {
      Numbers place = op.result.indices(i);
      if (op.mode == CUDNN_POINTWISE_GEN_INDEX) {
        result.push_back(double(place[size_t(op.axis)]));
        continue;
      }
      double x[3] = {};
      for (size_t k = 0; k < inputs.size(); ++k)
        x[k] = inputs[k][size_t(op.inputs[k].elementAt(place))];
      result.push_back(apply(op.mode, x));
    }
    return result;
  }

  static double apply(int mode, const double *x) {
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x[0] + x[1];
    case CUDNN_POINTWISE_SUB:
      return x[0] - x[1];
    case CUDNN_POINTWISE_MUL:
      return x[0] * x[1];
    case CUDNN_POINTWISE_DIV:
      return x[0] / x[1];
    case CUDNN_POINTWISE_EXP:
      return std::exp(x[0]);
    case CUDNN_POINTWISE_LOG:
      return std::log(x[0]);
    case CUDNN_POINTWISE_CMP_GE:
      return x[0] >= x[1];
    case CUDNN_POINTWISE_BINARY_SELECT:
      return x[2] != 0 ? x[0] : x[1];
    case CUDNN_POINTWISE_IDENTITY:
      return x[0];
    default:
      return std::nan("");
    }
  }

  std::vector<Operation> operations;
  std::map<int64_t, void *> memory;
  std::map<int64_t, Elements> values;
};

//===----------------------------------------------------------------------===//
// What is supported
//===----------------------------------------------------------------------===//

std::vector<Operation> operationsOf(const Descriptor &graph) {
  std::vector<Operation> operations;
  for (auto op :
       graph.list<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
    operations.push_back(Operation::of(at(op)));
  return operations;
}

/// Whether every value is computed before it is read, and shapes agree.
bool isSound(const std::vector<Operation> &operations) {
  std::set<int64_t> known;
  for (const Operation &op : operations) {
    for (const GraphTensor &input : op.inputs)
      if (input.isVirtual && !known.count(input.id))
        return false;
    known.insert(op.result.id);
    const std::vector<GraphTensor> &in = op.inputs;
    bool fits = true;
    if (op.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
      fits = in[0].dims[3] == in[1].dims[2] &&
             op.result.dims == Numbers{in[0].dims[0], in[0].dims[1],
                                       in[0].dims[2], in[1].dims[3]};
    else if (op.type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
      fits = in[0].count() == op.result.count();
    if (!fits)
      return false;
  }
  return true;
}

/// An engine for attention: 16 bits in memory but for statistics and sums,
/// heads of a multiple of 8 elements.
bool isAttention(const std::vector<Operation> &operations) {
  int products = 0;
  for (const Operation &op : operations) {
    if (op.type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
      continue;
    ++products;
    for (const GraphTensor &input : op.inputs)
      if (!input.isVirtual && !input.isSixteenBits())
        return false;
  }
  return products == 2 || products == 5;
}

/// Two engines by the model of the GPU, two of last resort; of these four, the
/// first ZC_FAKE_CUDNN_REFUSED have no plan.
constexpr int64_t kEngines = 2;

int numRefused() {
  const char *refused = std::getenv("ZC_FAKE_CUDNN_REFUSED");
  return refused ? std::atoi(refused) : 0;
}

cudnnBackendHeurMode_t modeOf(const Descriptor &ranking) {
  return ranking.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
}

} // namespace

extern "C" {

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  *descriptor = new Descriptor{type, {}};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &at(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values) {
  if (at(descriptor).finalized)
    return CUDNN_STATUS_NOT_INITIALIZED;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    for (int64_t i = 0; i < count; ++i)
      if (!at(static_cast<const cudnnBackendDescriptor_t *>(values)[i])
               .finalized)
        return CUDNN_STATUS_BAD_PARAM;
  auto *bytes = static_cast<const char *>(values);
  at(descriptor).values[name] = {bytes, bytes + size_t(count) * sizeOf(type)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Descriptor &own = at(descriptor);
  own.finalized = true;
  if (own.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
    return own.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).engine <
                   numRefused()
               ? CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH
               : CUDNN_STATUS_SUCCESS;
  if (own.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
    return modeOf(own) == CUDNN_HEUR_MODE_B ? CUDNN_STATUS_NOT_SUPPORTED
                                            : CUDNN_STATUS_SUCCESS;
  if (own.type != CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
    return CUDNN_STATUS_SUCCESS;
  std::vector<Operation> operations = operationsOf(own);
  for (const Operation &op : operations)
    zc::test::noteFake("cudnn", op.print());
  return isSound(operations) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t,
                                       int64_t requested, int64_t *count,
                                       void *values) {
  *count = 1;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    const Descriptor &engine =
        at(descriptor).part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    bool greedy = engine.engine == 1; // the second
    *static_cast<int64_t *>(values) = greedy ? int64_t(1) << 40 : 1024;
    return CUDNN_STATUS_SUCCESS;
  }
  const Descriptor &graph =
      at(descriptor).part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (std::getenv("ZC_FAKE_CUDNN_NO_PLAN") || !isAttention(operationsOf(graph)))
    *count = 0;
  else
    *count = requested > 0 ? std::min<int64_t>(requested, kEngines) : kEngines;
  bool last = modeOf(at(descriptor)) == CUDNN_HEUR_MODE_FALLBACK;
  for (int64_t i = 0; i < (requested > 0 ? *count : 0); ++i) {
    Descriptor &engine = at(static_cast<cudnnBackendDescriptor_t *>(values)[i]);
    engine.values = graph.values;
    engine.finalized = true;
    engine.engine = int(last * kEngines + i);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant) {
  std::vector<Operation> operations =
      operationsOf(at(plan).part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  Numbers ids = at(variant).list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto places = at(variant).list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void *> memory;
  for (size_t i = 0; i < ids.size(); ++i)
    memory[ids[i]] = places[i];
  // Values that the host gives are read now.
  auto scalars = std::make_shared<std::map<int64_t, float>>();
  for (const Operation &op : operations)
    for (const GraphTensor &input : op.inputs) {
      if (input.isVirtual)
        continue;
      void *&place = memory.at(input.id);
      if (!input.isByValue && reinterpret_cast<uintptr_t>(place) % 16 != 0)
        return CUDNN_STATUS_BAD_PARAM;
      if (input.isByValue && !scalars->count(input.id)) {
        (*scalars)[input.id] = *static_cast<float *>(place);
        place = &(*scalars)[input.id];
      }
    }
  zc::test::enqueueFake(
      zc::test::dnnStream(), "cudnnBackendExecute",
      [operations, memory, scalars] { Engine(operations, memory).run(); });
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
