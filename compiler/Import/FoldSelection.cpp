// Operators whose results are as long as their operands' values say: known
// values alone tell the shape.
#include "compiler/Import/ConstantFolder.h"

#include <algorithm>
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
  };
  return entries;
}
