// Operators that make tensors from sizes: ranges, constants, triangles.
#include "compiler/Import/ConstantFolder.h"

#include "compiler/OnnxModel/ModelFile.h"
#include <cmath>

using namespace zc;
using DataType = proto::TensorProto;

static FoldResults foldConstantOfShape(const FoldRequest &request) {
  auto dims = request.getInts("", 0);
  if (!dims)
    return std::nullopt;
  HostTensor result(DataType::FLOAT, {1});
  if (const proto::AttributeProto *value = request.getAttribute("value")) {
    auto bytes = readTensorBytes(ModelFile(), value->t());
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return std::nullopt;
    }
    result = HostTensor::fromBytes(value->t().data_type(), {1}, *bytes);
  }
  result.dims = Dims(dims->begin(), dims->end());
  if (getNumElements(result.dims) == INT64_MAX)
    return std::nullopt;
  // An empty tensor stores nothing; any other its one value.
  if (getNumElements(result.dims) == 0)
    return one(HostTensor(result.dataType, result.dims));
  result.stored.assign(result.dims.size(), 1);
  return one(std::move(result));
}

static FoldResults foldRange(const FoldRequest &request) {
  const HostTensor *start = request.getInput(0), *limit = request.getInput(1);
  const HostTensor *delta = request.getInput(2);
  if (!start || !limit || !delta)
    return std::nullopt;
  double step = delta->getFloat(0);
  double count = std::ceil((limit->getFloat(0) - start->getFloat(0)) / step);
  if (!(count <= double(kMaxFoldedElements)))
    return std::nullopt;
  HostTensor result(start->dataType, {int64_t(std::max(0.0, count))});
  for (int64_t i = 0, e = result.getNumStored(); i < e; ++i)
    if (result.isFloat())
      result.set(i, start->floats[0] + double(i) * step);
    else
      result.set(i, start->ints[0] + i * delta->ints[0]);
  return one(std::move(result));
}

static FoldResults foldTrilu(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || input->dims.size() < 2 ||
      getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  int64_t diagonal = request.getInput(1) ? request.getInput(1)->getInt(0) : 0;
  bool upper = request.getInt("upper", 1);
  // Batch dims that do not vary stay so; the two of the matrix are needed.
  HostTensor matrix = *input;
  Dims full = input->stored;
  size_t size = full.size();
  full[size - 2] = input->dims[size - 2];
  full[size - 1] = input->dims[size - 1];
  matrix.dims = full;
  HostTensor result = matrix.dense();
  int64_t rows = full[size - 2], columns = full[size - 1];
  for (int64_t i = 0, e = result.getNumStored(); i < e; ++i) {
    int64_t row = i / columns % rows, column = i % columns;
    bool kept = upper ? column - row >= diagonal : column - row <= diagonal;
    if (kept)
      continue;
    if (result.isFloat())
      result.floats[i] = 0;
    else
      result.ints[i] = 0;
  }
  result.dims = input->dims;
  return one(std::move(result));
}

static FoldResults foldCumSum(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0), *at = request.getInput(1);
  if (!input || !at || getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  auto axis = normalizeAxis(at->getInt(0), input->dims.size());
  if (!axis)
    return std::nullopt;
  bool exclusive = request.getInt("exclusive", 0);
  bool reverse = request.getInt("reverse", 0);
  HostTensor from = input->dense(), result(from.dataType, from.dims);
  int64_t size = from.dims[*axis], inner = getStrides(from.dims)[*axis];
  int64_t lines = size ? from.getNumStored() / size : 0;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t first = line / inner * inner * size + line % inner;
    double floatSum = 0;
    int64_t intSum = 0;
    for (int64_t k = 0; k < size; ++k) {
      int64_t i = first + (reverse ? size - 1 - k : k) * inner;
      double floatNext = floatSum + (from.isFloat() ? from.floats[i] : 0);
      int64_t intNext = intSum + (from.isFloat() ? 0 : from.ints[i]);
      if (from.isFloat())
        result.set(i, exclusive ? floatSum : floatNext);
      else
        result.set(i, exclusive ? intSum : intNext);
      floatSum = floatNext;
      intSum = intNext;
    }
  }
  return one(std::move(result));
}

static FoldResults foldEyeLike(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || input->dims.size() != 2 ||
      getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  int32_t dataType = request.getInt("dtype", input->dataType);
  if (getElementBytes(dataType) == 0)
    return std::nullopt;
  HostTensor result(dataType, input->dims);
  int64_t diagonal = request.getInt("k", 0), columns = input->dims[1];
  for (int64_t row = 0; row < input->dims[0]; ++row) {
    int64_t column = row + diagonal;
    if (column < 0 || column >= columns)
      continue;
    if (result.isFloat())
      result.set(row * columns + column, 1.0);
    else
      result.set(row * columns + column, int64_t(1));
  }
  return one(std::move(result));
}

llvm::ArrayRef<FoldEntry> zc::getCreationFolders() {
  static const FoldEntry entries[] = {
      {"ConstantOfShape", foldConstantOfShape},
      {"CumSum", foldCumSum},
      {"EyeLike", foldEyeLike},
      {"Range", foldRange},
      {"Trilu", foldTrilu},
  };
  return entries;
}
