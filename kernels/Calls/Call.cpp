#include "kernels/Calls/Call.h"

#include <algorithm>
#include <numeric>

namespace zc::kernels {

int64_t CallTensor::numElements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

const CallAttribute *LibraryCall::find(std::string_view name) const {
  for (const CallAttribute &each : attributes)
    if (each.name == name)
      return &each;
  return nullptr;
}

std::vector<int64_t> LibraryCall::integers(std::string_view name) const {
  const CallAttribute *found = find(name);
  return found ? found->integers : std::vector<int64_t>();
}

double LibraryCall::number(std::string_view name) const {
  const CallAttribute *found = find(name);
  return found ? found->number : 0;
}

std::string LibraryCall::text(std::string_view name) const {
  const CallAttribute *found = find(name);
  return found ? found->text : std::string();
}

bool isMatrixType(ElementType type) {
  return type == ElementType::F32 || type == ElementType::BF16 ||
         type == ElementType::F16;
}

const char *nameOfType(ElementType type) {
  static constexpr const char *kNames[] = {
      "float32", "float64", "float16", "bfloat16", "bool",  "int8",  "uint8",
      "int16",   "uint16",  "int32",   "uint32",   "int64", "uint64"};
  return kNames[size_t(type)];
}

std::string printDims(const std::vector<int64_t> &dims) {
  std::string text = "[";
  for (int64_t dim : dims)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

std::string print(const CallTensor &tensor) {
  return nameOfType(tensor.type) + (" " + printDims(tensor.dims));
}

std::string checkTypes(std::initializer_list<ElementType> types) {
  const ElementType first = *types.begin();
  const bool areAlike =
      std::all_of(types.begin(), types.end(),
                  [&](ElementType each) { return each == first; });
  return areAlike && isMatrixType(first)
             ? ""
             : "its operands have different or unsuitable types";
}

std::string checkCounts(const LibraryCall &call, size_t inputs,
                        size_t outputs) {
  if (call.inputs.size() == inputs && call.outputs.size() == outputs)
    return "";
  return "it has " + std::to_string(call.inputs.size()) + " inputs and " +
         std::to_string(call.outputs.size()) + " outputs; expected " +
         std::to_string(inputs) + " and " + std::to_string(outputs);
}

StridedTensor permuted(const CallTensor &tensor,
                       const std::vector<int64_t> &order) {
  std::vector<int64_t> strides(tensor.dims.size(), 1);
  for (size_t i = strides.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * tensor.dims[i - 1];
  StridedTensor result;
  result.type = tensor.type;
  for (int64_t dim : order) {
    result.dims.push_back(tensor.dims[size_t(dim)]);
    result.strides.push_back(strides[size_t(dim)]);
  }
  return result;
}

static std::vector<int64_t> orderOf(const CallTensor &tensor) {
  std::vector<int64_t> order(tensor.dims.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

StridedTensor asItIs(const CallTensor &tensor) {
  return permuted(tensor, orderOf(tensor));
}

StridedTensor asImage(const CallTensor &tensor, bool channelsLast) {
  std::vector<int64_t> order = orderOf(tensor);
  if (channelsLast && order.size() >= 3)
    std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return permuted(tensor, order);
}

} // namespace zc::kernels
