// Operators that move elements without computing on them.
#include "compiler/Import/ConstantFolder.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace zc;
using llvm::ArrayRef;

// A tensor of `from`'s type with element i taken from `from`'s stored element
// source(i).
template <typename Source>
static HostTensor takeElements(const HostTensor &from, ArrayRef<int64_t> dims,
                               Source source) {
  HostTensor result(from.dataType, dims);
  for (int64_t i = 0, e = result.getNumStored(); i < e; ++i)
    if (from.isFloat())
      result.floats[i] = from.floats[source(i)];
    else
      result.ints[i] = from.ints[source(i)];
  return result;
}

static HostTensor withDims(HostTensor tensor, ArrayRef<int64_t> dims) {
  tensor.dims = tensor.stored = Dims(dims);
  return tensor;
}

// --- Shapes
// ------------------------------------------------------------------------

// The dims that Reshape's second operand asks for.
static std::optional<Dims> resolveReshape(const HostTensor &input,
                                          ArrayRef<int64_t> shape,
                                          bool allowZero) {
  Dims dims;
  std::optional<size_t> open;
  int64_t known;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t dim = shape[i];
    if (dim == 0 && !allowZero) {
      if (i >= input.dims.size())
        return std::nullopt;
      dim = input.dims[i];
    }
    if (dim < -1)
      return std::nullopt;
    if (dim == -1)
      open = i;
    dims.push_back(dim);
  }
  Dims given = dims;
  if (open)
    given[*open] = 1;
  known = getNumElements(given);
  int64_t count = getNumElements(input.dims);
  if (open && (known == 0 || count % known != 0))
    return std::nullopt;
  if (open)
    dims[*open] = count / known;
  if (getNumElements(dims) != count)
    return std::nullopt;
  return dims;
}

static FoldResults foldReshape(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  auto shape = request.getInts("shape", 1);
  if (!input || !shape)
    return std::nullopt;
  auto dims = resolveReshape(*input, *shape, request.getInt("allowzero", 0));
  if (!dims || getNumElements(*dims) > kMaxFoldedElements)
    return std::nullopt;
  return one(withDims(input->dense(), *dims));
}

static FoldResults foldFlatten(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  int64_t axis = request.getInt("axis", 1);
  if (axis < 0)
    axis += input->dims.size();
  if (axis < 0 || axis > int64_t(input->dims.size()))
    return std::nullopt;
  ArrayRef<int64_t> dims = input->dims;
  return one(withDims(input->dense(), {getNumElements(dims.take_front(axis)),
                                       getNumElements(dims.drop_front(axis))}));
}

static FoldResults foldSqueeze(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input)
    return std::nullopt;
  auto axes = request.getInts("axes", 1);
  std::vector<bool> drop(input->dims.size(), false);
  for (size_t i = 0; i < drop.size() && !axes; ++i)
    drop[i] = input->dims[i] == 1;
  for (int64_t axis : axes.value_or(std::vector<int64_t>())) {
    auto index = normalizeAxis(axis, drop.size());
    if (!index || input->dims[*index] != 1)
      return std::nullopt;
    drop[*index] = true;
  }
  HostTensor result = *input;
  result.dims.clear();
  result.stored.clear();
  for (size_t i = 0; i < drop.size(); ++i) {
    if (drop[i])
      continue;
    result.dims.push_back(input->dims[i]);
    result.stored.push_back(input->stored[i]);
  }
  return one(std::move(result));
}

static FoldResults foldUnsqueeze(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  auto axes = request.getInts("axes", 1);
  if (!input || !axes)
    return std::nullopt;
  size_t size = input->dims.size() + axes->size();
  std::vector<bool> added(size, false);
  for (int64_t axis : *axes) {
    auto index = normalizeAxis(axis, size);
    if (!index || added[*index])
      return std::nullopt;
    added[*index] = true;
  }
  HostTensor result = *input;
  result.dims.clear();
  result.stored.clear();
  for (size_t i = 0, next = 0; i < size; ++i) {
    result.dims.push_back(added[i] ? 1 : input->dims[next]);
    result.stored.push_back(added[i] ? 1 : input->stored[next]);
    next += !added[i];
  }
  return one(std::move(result));
}

static FoldResults foldExpand(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  auto shape = request.getInts("", 1);
  if (!input || !shape)
    return std::nullopt;
  auto dims = broadcast(input->dims, *shape);
  if (!dims)
    return std::nullopt;
  HostTensor result = *input;
  result.dims = *dims;
  result.stored.insert(result.stored.begin(), dims->size() - input->dims.size(),
                       1);
  return one(std::move(result));
}

static FoldResults foldTranspose(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input)
    return std::nullopt;
  size_t size = input->dims.size();
  std::vector<int64_t> order(size);
  for (size_t i = 0; i < size; ++i)
    order[i] = size - 1 - i;
  if (auto perm = request.getInts("perm", size_t(-1)))
    order = *perm;
  if (order.size() != size)
    return std::nullopt;
  Dims dims, stored, strides, from = getStrides(input->stored);
  for (int64_t axis : order) {
    dims.push_back(input->dims[axis]);
    stored.push_back(input->stored[axis]);
    strides.push_back(from[axis]);
  }
  Dims to = getStrides(stored);
  HostTensor result = takeElements(*input, stored, [&](int64_t index) {
    int64_t offset = 0;
    for (size_t i = 0; i < size; ++i) {
      offset += index / to[i] * strides[i];
      index %= to[i];
    }
    return offset;
  });
  result.dims = dims;
  return one(std::move(result));
}

// --- Parts
// -------------------------------------------------------------------------

// Elements index[0], index[1], ... along `axis` of a tensor stored in full.
static HostTensor selectAlong(const HostTensor &from, size_t axis,
                              ArrayRef<int64_t> indices) {
  Dims dims = from.dims;
  int64_t size = dims[axis], count = indices.size();
  int64_t inner = getStrides(dims)[axis];
  dims[axis] = count;
  return takeElements(from, dims, [&](int64_t index) {
    int64_t block = inner * count;
    int64_t outer = index / block, rest = index % block;
    return (outer * size + indices[rest / inner]) * inner + rest % inner;
  });
}

// The indices that a slice of a dim of `size` takes, as ONNX clamps them.
static std::vector<int64_t> sliceIndices(int64_t size, int64_t start,
                                         int64_t end, int64_t step) {
  if (start < 0)
    start = start < -size ? (step < 0 ? -1 : 0) : start + size;
  if (end < 0)
    end = end < -size ? (step < 0 ? -1 : 0) : end + size;
  std::vector<int64_t> indices;
  if (step > 0)
    for (int64_t i = start, e = std::min(end, size); i < e; i += step)
      indices.push_back(i);
  else
    for (int64_t i = std::min(start, size - 1); i > end && i >= 0; i += step)
      indices.push_back(i);
  return indices;
}

static FoldResults foldSlice(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  auto starts = request.getInts("starts", 1), ends = request.getInts("ends", 2);
  auto axes = request.getInts("axes", 3), steps = request.getInts("", 4);
  if (!input || !starts || !ends || starts->size() != ends->size() ||
      getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor result = input->dense();
  for (size_t i = 0; i < starts->size(); ++i) {
    auto axis = normalizeAxis(axes && i < axes->size() ? (*axes)[i] : i,
                              input->dims.size());
    int64_t step = steps && i < steps->size() ? (*steps)[i] : 1;
    if (!axis || step == 0 ||
        std::abs(step) > std::numeric_limits<int32_t>::max())
      return std::nullopt;
    result = selectAlong(
        result, *axis,
        sliceIndices(input->dims[*axis], (*starts)[i], (*ends)[i], step));
  }
  return one(std::move(result));
}

static FoldResults foldGather(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0), *at = request.getInput(1);
  if (!input || !at || at->isFloat())
    return std::nullopt;
  auto axis = normalizeAxis(request.getInt("axis", 0), input->dims.size());
  if (!axis)
    return std::nullopt;
  std::vector<int64_t> indices = at->getInts();
  for (int64_t &index : indices) {
    auto normal = normalizeAxis(index, input->dims[*axis]);
    if (!normal)
      return std::nullopt;
    index = *normal;
  }
  Dims selected = input->dims;
  selected[*axis] = indices.size();
  if (getNumElements(selected) > kMaxFoldedElements ||
      getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor result = selectAlong(input->dense(), *axis, indices);
  Dims dims(input->dims.begin(), input->dims.begin() + *axis);
  dims.append(at->dims.begin(), at->dims.end());
  dims.append(input->dims.begin() + *axis + 1, input->dims.end());
  return one(withDims(std::move(result), dims));
}

// Gathers rows by index tuples, the last dim of the indices.
static FoldResults foldGatherNd(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0), *at = request.getInput(1);
  if (!input || !at || at->dims.empty() ||
      request.getInt("batch_dims", 0) != 0 ||
      getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor from = input->dense();
  std::vector<int64_t> indices = at->getInts();
  size_t depth = at->dims.back();
  if (depth > from.dims.size())
    return std::nullopt;
  Dims strides = getStrides(from.dims);
  Dims dims(at->dims.begin(), at->dims.end() - 1);
  int64_t rows = getNumElements(dims);
  ArrayRef<int64_t> rowDims = ArrayRef<int64_t>(from.dims).drop_front(depth);
  int64_t row = getNumElements(rowDims);
  std::vector<int64_t> offsets(rows, 0);
  for (int64_t i = 0; i < rows; ++i)
    for (size_t d = 0; d < depth; ++d) {
      auto index = normalizeAxis(indices[i * depth + d], from.dims[d]);
      if (!index)
        return std::nullopt;
      offsets[i] += *index * strides[d];
    }
  dims.append(rowDims.begin(), rowDims.end());
  if (getNumElements(dims) > kMaxFoldedElements)
    return std::nullopt;
  return one(takeElements(from, dims, [&](int64_t index) {
    return offsets[index / row] + index % row;
  }));
}

static FoldResults foldSplit(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  auto axis = normalizeAxis(request.getInt("axis", 0), input->dims.size());
  if (!axis)
    return std::nullopt;
  int64_t size = input->dims[*axis], parts = request.node.output_size();
  std::vector<int64_t> lengths(parts, (size + parts - 1) / parts);
  lengths.back() = size - lengths.front() * (parts - 1);
  if (auto given = request.getInts("split", 1))
    lengths = *given;
  if (int64_t(lengths.size()) != parts)
    return std::nullopt;
  HostTensor from = input->dense();
  std::vector<HostTensor> results;
  int64_t start = 0;
  for (int64_t length : lengths) {
    if (length < 0 || start + length > size)
      return std::nullopt;
    results.push_back(
        selectAlong(from, *axis, sliceIndices(size, start, start + length, 1)));
    start += length;
  }
  return results;
}

// --- Joins
// -------------------------------------------------------------------------

/// Whether two tensors differ in size along the axis alone.
static bool fitsBeside(const HostTensor &a, const HostTensor &b, int64_t axis) {
  Dims left = a.dims, right = b.dims;
  if (left.size() != right.size() || a.isFloat() != b.isFloat())
    return false;
  left[axis] = right[axis] = 0;
  return left == right;
}

static FoldResults foldConcat(const FoldRequest &request) {
  if (request.inputs.empty() || !request.inputs[0])
    return std::nullopt;
  auto axis =
      normalizeAxis(request.getInt("axis", 0), request.inputs[0]->dims.size());
  if (!axis)
    return std::nullopt;
  Dims dims = request.inputs[0]->dims;
  dims[*axis] = 0;
  for (const HostTensor *input : request.inputs) {
    if (!input || !fitsBeside(*input, *request.inputs[0], *axis))
      return std::nullopt;
    dims[*axis] += input->dims[*axis];
  }
  if (getNumElements(dims) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor result(request.inputs[0]->dataType, dims);
  int64_t inner = getStrides(dims)[*axis], start = 0;
  for (const HostTensor *input : request.inputs) {
    HostTensor from = input->dense();
    int64_t block = inner * from.dims[*axis];
    for (int64_t i = 0, e = from.getNumStored(); i < e; ++i) {
      int64_t to = i / block * inner * dims[*axis] + start + i % block;
      if (result.isFloat())
        result.floats[to] = from.floats[i];
      else
        result.ints[to] = from.ints[i];
    }
    start += block;
  }
  return one(std::move(result));
}

static FoldResults foldTile(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  auto repeats = request.getInts("", 1);
  if (!input || !repeats || repeats->size() != input->dims.size())
    return std::nullopt;
  Dims dims = input->dims;
  for (auto [dim, repeat] : llvm::zip(dims, *repeats))
    dim *= repeat;
  if (getNumElements(dims) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor result = input->dense();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    std::vector<int64_t> indices(dims[axis]);
    for (int64_t i = 0; i < dims[axis]; ++i)
      indices[i] = i % input->dims[axis];
    result = selectAlong(result, axis, indices);
  }
  return one(std::move(result));
}

// Writes rows of the third operand at the index tuples of the second.
static FoldResults foldScatterNd(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0), *at = request.getInput(1);
  const HostTensor *updates = request.getInput(2);
  if (!input || !at || !updates || at->dims.empty() ||
      request.getString("reduction", "none") != "none" ||
      getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor result = input->dense(), from = updates->dense();
  std::vector<int64_t> indices = at->getInts();
  size_t depth = at->dims.back();
  if (depth == 0 || depth > result.dims.size())
    return std::nullopt;
  Dims strides = getStrides(result.dims);
  int64_t row = strides[depth - 1], rows = indices.size() / depth;
  if (from.getNumStored() != rows * row)
    return std::nullopt;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t to = 0;
    for (size_t d = 0; d < depth; ++d) {
      auto index = normalizeAxis(indices[i * depth + d], result.dims[d]);
      if (!index)
        return std::nullopt;
      to += *index * strides[d];
    }
    for (int64_t j = 0; j < row; ++j)
      if (result.isFloat())
        result.floats[to + j] = from.floats[i * row + j];
      else
        result.ints[to + j] = from.ints[i * row + j];
  }
  return one(std::move(result));
}

llvm::ArrayRef<FoldEntry> zc::getMovementFolders() {
  static const FoldEntry entries[] = {
      {"Concat", foldConcat},       {"Expand", foldExpand},
      {"Flatten", foldFlatten},     {"Gather", foldGather},
      {"GatherND", foldGatherNd},   {"Reshape", foldReshape},
      {"ScatterND", foldScatterNd}, {"Slice", foldSlice},
      {"Split", foldSplit},         {"Squeeze", foldSqueeze},
      {"Tile", foldTile},           {"Transpose", foldTranspose},
      {"Unsqueeze", foldUnsqueeze},
  };
  return entries;
}
