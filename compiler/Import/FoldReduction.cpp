// Operators that combine many elements into one: reductions and matrix
// products.
#include "compiler/Import/ConstantFolder.h"

#include <algorithm>
#include <limits>

using namespace zc;

namespace {

// The dims that a Reduce operator takes away; empty axes mean all of them, or
// none with noop_with_empty_axes.
std::optional<std::vector<bool>> getReducedDims(const FoldRequest &request,
                                                size_t size) {
  auto axes = request.getInts("axes", 1);
  bool all =
      (!axes || axes->empty()) && !request.getInt("noop_with_empty_axes", 0);
  std::vector<bool> reduced(size, all);
  for (int64_t axis : axes.value_or(std::vector<int64_t>())) {
    auto index = normalizeAxis(axis, size);
    if (!index)
      return std::nullopt;
    reduced[*index] = true;
  }
  return reduced;
}

struct SumOf {
  static constexpr double kFloat = 0;
  static constexpr int64_t kInt = 0;
  template <typename T> static T of(T a, T b) { return a + b; }
};
struct ProductOf {
  static constexpr double kFloat = 1;
  static constexpr int64_t kInt = 1;
  template <typename T> static T of(T a, T b) { return a * b; }
};
struct LeastOf {
  static constexpr double kFloat = std::numeric_limits<double>::infinity();
  static constexpr int64_t kInt = std::numeric_limits<int64_t>::max();
  template <typename T> static T of(T a, T b) { return std::min(a, b); }
};
struct GreatestOf {
  static constexpr double kFloat = -std::numeric_limits<double>::infinity();
  static constexpr int64_t kInt = std::numeric_limits<int64_t>::min();
  template <typename T> static T of(T a, T b) { return std::max(a, b); }
};

} // namespace

template <typename Op, bool kMean = false>
static FoldResults foldReduce(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  auto reduced = getReducedDims(request, input->dims.size());
  if (!reduced)
    return std::nullopt;
  Dims kept = input->dims, dims;
  for (size_t i = 0; i < kept.size(); ++i) {
    if ((*reduced)[i])
      kept[i] = 1;
    if (!(*reduced)[i] || request.getInt("keepdims", 1))
      dims.push_back(kept[i]);
  }
  HostTensor from = input->dense(), result(from.dataType, kept);
  std::fill(result.floats.begin(), result.floats.end(), Op::kFloat);
  const bool isBool = from.dataType == proto::TensorProto::BOOL;
  std::fill(result.ints.begin(), result.ints.end(),
            isBool ? std::clamp<int64_t>(Op::kInt, 0, 1) : Op::kInt);
  BroadcastIndex to(kept, from.dims);
  for (int64_t i = 0, e = from.getNumStored(); i < e; ++i, ++to)
    if (from.isFloat())
      result.floats[*to] = Op::of(result.floats[*to], from.floats[i]);
    else
      result.ints[*to] = Op::of(result.ints[*to], from.ints[i]);
  int64_t count = std::max<int64_t>(1, result.getNumStored());
  int64_t share = from.getNumStored() / count;
  if (kMean && share == 0)
    return std::nullopt;
  for (double &value : result.floats)
    value = roundTo(from.dataType, kMean ? value / double(share) : value);
  for (int64_t &value : result.ints)
    value = wrapTo(from.dataType, kMean ? value / share : value);
  result.dims = result.stored = dims;
  return one(std::move(result));
}

// numpy's matmul of operands of at least 2 dims: position tables of rotary
// embeddings are outer products.
static FoldResults foldMatMul(const FoldRequest &request) {
  const HostTensor *a = request.getInput(0), *b = request.getInput(1);
  if (!a || !b || !a->isFloat() || a->dims.size() < 2 || b->dims.size() < 2)
    return std::nullopt;
  using Ref = llvm::ArrayRef<int64_t>;
  Ref aDims = a->dims, bDims = b->dims;
  int64_t rows = aDims[aDims.size() - 2], inner = aDims.back();
  int64_t columns = bDims.back();
  auto batch = broadcast(aDims.drop_back(2), bDims.drop_back(2));
  if (!batch || bDims[bDims.size() - 2] != inner)
    return std::nullopt;
  Dims dims = *batch;
  dims.append({rows, columns});
  if (getNumElements(dims) * std::max<int64_t>(1, inner) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor left = a->dense(), right = b->dense();
  HostTensor result(a->dataType, dims);
  BroadcastIndex leftAt(aDims.drop_back(2), *batch);
  BroadcastIndex rightAt(bDims.drop_back(2), *batch);
  for (int64_t n = 0, e = getNumElements(*batch); n < e;
       ++n, ++leftAt, ++rightAt)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum += left.floats[(*leftAt * rows + i) * inner + k] *
                 right.floats[(*rightAt * inner + k) * columns + j];
        result.set((n * rows + i) * columns + j, sum);
      }
  return one(std::move(result));
}

llvm::ArrayRef<FoldEntry> zc::getReductionFolders() {
  static const FoldEntry entries[] = {
      {"MatMul", foldMatMul},
      {"ReduceMax", foldReduce<GreatestOf>},
      {"ReduceMean", foldReduce<SumOf, true>},
      {"ReduceMin", foldReduce<LeastOf>},
      {"ReduceProd", foldReduce<ProductOf>},
      {"ReduceSum", foldReduce<SumOf>},
  };
  return entries;
}
