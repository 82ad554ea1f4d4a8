//===- Bilinear.cpp - images between their pixels -------------------------===//
#include "passes/Import/Lowering/Bilinear.h"

using namespace mlir;
using namespace zc;

Value zc::countAlong(TensorBuilder &build, ArrayRef<int64_t> shape, int64_t dim,
                     Type element) {
  Value counts = build.iota(shape, dim, build.builder.getI64Type());
  return build.convert(counts, element);
}

namespace {
/// The lower or upper pixel along one dim.
struct Neighbour {
  Value place;  // inside the image, float
  Value weight; // 0 where it lies outside
};
} // namespace

static SmallVector<Neighbour, 2> findNeighbours(TensorBuilder &build,
                                                Value place, int64_t size) {
  Value low = build.unary<train::FloorOp>(place);
  Value rest = build.sub(place, low);
  Value back = build.add(build.neg(rest), 1.0);
  SmallVector<Neighbour, 2> neighbours;
  for (auto [at, weight] :
       {std::pair(low, back), std::pair(build.add(low, 1.0), rest)}) {
    Value inside =
        build.min(build.max(at, build.splatLike(at, 0)),
                  build.splatLike(at, static_cast<double>(size - 1)));
    Value isInside = build.convert(build.compare(Predicate::Eq, inside, at),
                                   elementTypeOf(at));
    neighbours.push_back({inside, build.mul(weight, isInside)});
  }
  return neighbours;
}

SmallVector<WeighedPixels> zc::findCorners(TensorBuilder &build, Value rows,
                                           Value image, Value y, Value x,
                                           int64_t height, int64_t width) {
  Type integer = build.builder.getI64Type();
  auto columns = findNeighbours(build, x, width);
  auto stepTo = [&](Value at, int64_t size, Value place) {
    return build.add(build.mul(at, build.splatLike(at, double(size))),
                     build.convert(place, integer));
  };
  SmallVector<WeighedPixels> corners;
  for (const Neighbour &row : findNeighbours(build, y, height)) {
    Value line = stepTo(image, height, row.place);
    for (const Neighbour &column : columns)
      corners.push_back(
          {build.gather(rows, stepTo(line, width, column.place), 0),
           build.mul(row.weight, column.weight)});
  }
  return corners;
}

Value zc::weigh(TensorBuilder &build, const WeighedPixels &corner) {
  Value factor = build.broadcast(
      build.convert(corner.weight, elementTypeOf(corner.pixels)),
      shapeOf(corner.pixels),
      llvm::to_vector(llvm::seq<int64_t>(0, rankOf(corner.weight))));
  return build.mul(corner.pixels, factor);
}
