// Operators whose results are as long as their operands' values say: known
// values alone tell the shape.
#include "compiler/Import/ConstantFolder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace zc;

// --- NonZero, Compress
// ----------------------------------------------------------

static bool isZero(const HostTensor &tensor, int64_t index) {
  return tensor.isFloat() ? tensor.floats[index] == 0 : tensor.ints[index] == 0;
}

static FoldResults foldNonZero(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor from = input->dense();
  std::vector<int64_t> places;
  for (int64_t i = 0, e = from.getNumStored(); i < e; ++i)
    if (!isZero(from, i))
      places.push_back(i);
  int64_t rank = from.dims.size(), count = places.size();
  HostTensor result(proto::TensorProto::INT64, {rank, count});
  Dims strides = getStrides(from.dims);
  for (int64_t dim = 0; dim < rank; ++dim)
    for (int64_t i = 0; i < count; ++i)
      result.ints[dim * count + i] = places[i] / strides[dim] % from.dims[dim];
  return one(std::move(result));
}

// --- Unique
// ------------------------------------------------------------------------

namespace {

/// The rows of a tensor along an axis, which are compared element by element.
struct TensorRows {
  const HostTensor &tensor;
  int64_t count, behind, size; // rows; elements behind the axis; those of a row

  int64_t placeOf(int64_t row, int64_t element) const {
    return (element / behind * count + row) * behind + element % behind;
  }

  /// Negative, 0 or positive; NaN comes last and equals NaN.
  int compare(int64_t a, int64_t b) const {
    for (int64_t element = 0; element < size; ++element)
      if (int order = comparePlaces(placeOf(a, element), placeOf(b, element)))
        return order;
    return 0;
  }

private:
  int comparePlaces(int64_t a, int64_t b) const {
    auto order = [](auto x, auto y) { return (x > y) - (x < y); };
    if (tensor.dataType == proto::TensorProto::UINT64)
      return order(uint64_t(tensor.ints[a]), uint64_t(tensor.ints[b]));
    if (!tensor.isFloat())
      return order(tensor.ints[a], tensor.ints[b]);
    double x = tensor.floats[a], y = tensor.floats[b];
    return std::isnan(x) || std::isnan(y) ? std::isnan(x) - std::isnan(y)
                                          : order(x, y);
  }
};

} // namespace

static HostTensor takeRows(const TensorRows &rows, Dims dims, int64_t axis,
                           llvm::ArrayRef<int64_t> chosen) {
  dims[axis] = chosen.size();
  HostTensor result(rows.tensor.dataType, dims);
  TensorRows target{result, dims[axis], rows.behind, rows.size};
  for (auto [to, from] : llvm::enumerate(chosen))
    for (int64_t element = 0; element < rows.size; ++element) {
      int64_t out = target.placeOf(to, element),
              in = rows.placeOf(from, element);
      if (result.isFloat())
        result.floats[out] = rows.tensor.floats[in];
      else
        result.ints[out] = rows.tensor.ints[in];
    }
  return result;
}

static FoldResults foldUnique(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || getNumElements(input->dims) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor from = input->dense();
  Dims dims = request.getAttribute("axis") ? from.dims
                                           : Dims{getNumElements(from.dims)};
  auto axis = normalizeAxis(request.getInt("axis", 0), dims.size());
  if (!axis)
    return std::nullopt;
  int64_t before = getNumElements(llvm::ArrayRef(dims).take_front(*axis));
  int64_t behind = getNumElements(llvm::ArrayRef(dims).drop_front(*axis + 1));
  TensorRows rows{from, dims[*axis], behind, before * behind};
  std::vector<int64_t> order(rows.count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return rows.compare(a, b) < 0;
  });
  // By kind: where it occurs first, and how often.
  std::vector<int64_t> firsts, counts, kindOf(rows.count);
  for (int64_t row : order) {
    if (firsts.empty() || rows.compare(firsts.back(), row) != 0) {
      firsts.push_back(row);
      counts.push_back(0);
    }
    ++counts.back();
    kindOf[row] = firsts.size() - 1;
  }
  std::vector<int64_t> kinds(firsts.size());
  std::iota(kinds.begin(), kinds.end(), 0);
  if (request.getInt("sorted", 1) == 0)
    llvm::sort(kinds,
               [&](int64_t a, int64_t b) { return firsts[a] < firsts[b]; });
  std::vector<int64_t> places, numbers, rankOf(kinds.size());
  for (auto [rank, kind] : llvm::enumerate(kinds)) {
    places.push_back(firsts[kind]);
    numbers.push_back(counts[kind]);
    rankOf[kind] = rank;
  }
  for (int64_t &kind : kindOf)
    kind = rankOf[kind];
  return std::vector<HostTensor>{
      takeRows(rows, dims, *axis, places), HostTensor::ofInts(places),
      HostTensor::ofInts(kindOf), HostTensor::ofInts(numbers)};
}

// --- NonMaxSuppression
// ----------------------------------------------------------

namespace {

struct Box {
  float top, left, bottom, right;

  float area() const { return (bottom - top) * (right - left); }
};

// Two opposite corners in any order, or a centre and sizes.
Box readBox(const HostTensor &boxes, int64_t index, bool isCentre) {
  const double *at = boxes.floats.data() + index * 4;
  auto number = [&](int i) { return static_cast<float>(at[i]); };
  if (isCentre)
    return {number(1) - number(3) / 2, number(0) - number(2) / 2,
            number(1) + number(3) / 2, number(0) + number(2) / 2};
  return {std::min(number(0), number(2)), std::min(number(1), number(3)),
          std::max(number(0), number(2)), std::max(number(1), number(3))};
}

// The area that two boxes share, of that which they cover.
float getOverlap(const Box &a, const Box &b) {
  float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0)
    return 0;
  float shared = height * width, all = a.area() + b.area() - shared;
  return all > 0 ? shared / all : 0;
}

struct Suppression {
  int64_t most;
  float overlap, score;
  bool isCentre;
};

// The boxes of one image and class that stay, the best first.
std::vector<int64_t> selectBoxes(llvm::ArrayRef<Box> boxes,
                                 llvm::ArrayRef<double> scores,
                                 const Suppression &settings) {
  std::vector<int64_t> order(boxes.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (int64_t index : order) {
    if (static_cast<int64_t>(kept.size()) == settings.most)
      break;
    bool isCovered = llvm::any_of(kept, [&](int64_t other) {
      return getOverlap(boxes[index], boxes[other]) > settings.overlap;
    });
    if (scores[index] > settings.score && !isCovered)
      kept.push_back(index);
  }
  return kept;
}

} // namespace

static FoldResults foldNonMaxSuppression(const FoldRequest &request) {
  const HostTensor *boxes = request.getInput(0), *scores = request.getInput(1);
  if (!boxes || !scores || boxes->dims.size() != 3 || boxes->dims[2] != 4 ||
      scores->dims.size() != 3 || scores->dims[2] != boxes->dims[1] ||
      scores->dims[0] != boxes->dims[0])
    return std::nullopt;
  auto number = [&](size_t index, double absent) {
    const HostTensor *tensor = request.getInput(index);
    return tensor && tensor->getNumStored() ? tensor->getFloat(0) : absent;
  };
  double lowest = -std::numeric_limits<double>::infinity();
  Suppression settings{int64_t(number(2, 0)), float(number(3, 0)),
                       float(number(4, lowest)),
                       request.getInt("center_point_box", 0) != 0};
  HostTensor allBoxes = boxes->dense(), allScores = scores->dense();
  int64_t count = boxes->dims[1], classes = scores->dims[1];
  std::vector<int64_t> chosen;
  for (int64_t image = 0; image < boxes->dims[0]; ++image) {
    std::vector<Box> own;
    for (int64_t i = 0; i < count; ++i)
      own.push_back(readBox(allBoxes, image * count + i, settings.isCentre));
    for (int64_t kind = 0; kind < classes; ++kind) {
      llvm::ArrayRef<double> row(
          allScores.floats.data() + (image * classes + kind) * count, count);
      for (int64_t index : selectBoxes(own, row, settings))
        chosen.insert(chosen.end(), {image, kind, index});
    }
  }
  HostTensor result(proto::TensorProto::INT64, {int64_t(chosen.size()) / 3, 3});
  result.ints = std::move(chosen);
  return one(std::move(result));
}

llvm::ArrayRef<FoldEntry> zc::getSelectionFolders() {
  static const FoldEntry entries[] = {
      {"NonMaxSuppression", foldNonMaxSuppression},
      {"NonZero", foldNonZero},
      {"Unique", foldUnique},
  };
  return entries;
}
