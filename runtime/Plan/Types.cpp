#include "runtime/Plan/Types.h"

namespace zc {

namespace {

struct TypeRow {
  plan::DataType type;
  uint64_t bytes;
  const char *name, *safetensors;
  bool integer;
};

constexpr TypeRow kTypes[] = {
    {plan::F32, 4, "float32", "F32", false},
    {plan::F64, 8, "float64", "F64", false},
    {plan::F16, 2, "float16", "F16", false},
    {plan::BF16, 2, "bfloat16", "BF16", false},
    {plan::BOOL, 1, "bool", "BOOL", false},
    {plan::I8, 1, "int8", "I8", true},
    {plan::U8, 1, "uint8", "U8", true},
    {plan::I16, 2, "int16", "I16", true},
    {plan::U16, 2, "uint16", "U16", true},
    {plan::I32, 4, "int32", "I32", true},
    {plan::U32, 4, "uint32", "U32", true},
    {plan::I64, 8, "int64", "I64", true},
    {plan::U64, 8, "uint64", "U64", true},
};

const TypeRow &row(plan::DataType type) {
  static const TypeRow none = {plan::DATA_TYPE_UNSPECIFIED, 0, "unknown", "?",
                               false};
  for (const TypeRow &candidate : kTypes)
    if (candidate.type == type)
      return candidate;
  return none;
}

} // namespace

uint64_t elementBytes(plan::DataType type) { return row(type).bytes; }
const char *typeName(plan::DataType type) { return row(type).name; }
const char *safetensorsTypeName(plan::DataType type) {
  return row(type).safetensors;
}
plan::DataType dataTypeOf(std::string_view safetensorsName) {
  for (const TypeRow &candidate : kTypes)
    if (candidate.safetensors == safetensorsName)
      return candidate.type;
  return plan::DATA_TYPE_UNSPECIFIED;
}
bool isInteger(plan::DataType type) { return row(type).integer; }

Result<uint64_t> elementCount(const plan::TensorType &type) {
  uint64_t count = 1;
  for (int64_t dim : type.dims())
    if (dim < 0 || __builtin_mul_overflow(count, uint64_t(dim), &count))
      return makeError(StatusCode::Corrupt, "a tensor of the impossible shape ",
                       printDims(type.dims()));
  return count;
}

Result<uint64_t> byteCount(const plan::TensorType &type) {
  uint64_t bytes = elementBytes(type.dtype());
  if (bytes == 0)
    return makeError(StatusCode::Corrupt, "a tensor of unknown type");
  ZC_ASSIGN_OR_RETURN(uint64_t count, elementCount(type));
  if (__builtin_mul_overflow(bytes, count, &bytes))
    return makeError(StatusCode::Corrupt, "a tensor of the impossible shape ",
                     printDims(type.dims()));
  return bytes;
}

plan::TensorType storedTypeOf(const plan::WeightSource &source,
                              const plan::TensorType &type) {
  plan::TensorType stored = type;
  if (source.dtype() != plan::DATA_TYPE_UNSPECIFIED)
    stored.set_dtype(source.dtype());
  return stored;
}

std::string printType(const plan::TensorType &type) {
  return std::string(typeName(type.dtype())) + " " + printDims(type.dims());
}

bool isModelState(const plan::State &state) {
  return state.kind() == plan::PARAMETER || state.kind() == plan::STATISTIC ||
         (state.kind() == plan::CONSTANT && !state.has_source());
}

} // namespace zc
