#include "kernels/Calls/Division/FilterGradientSplit.h"

#include "kernels/Calls/Division/PointwiseProduct.h"
#include "kernels/Rounding.h"

#include <algorithm>

namespace zc::kernels {
namespace {

/// Cycles of one core, roughly: 32 products each, a packed row's 6 floats in
/// two, 16 floats of a panel in one, 4 floats of a sum in one.
double cost(const FilterGradientShape &shape,
            const FilterGradientSplit &split) {
  double depth = static_cast<double>(
      ceilDivide(ceilDivide(shape.depth, kFilterDepth), split.depthParts) *
      kFilterDepth);
  double rows = static_cast<double>(
      ceilDivide(ceilDivide(shape.rows, kFilterTile), split.rowParts) *
      kFilterTile);
  double columns = static_cast<double>(
      ceilDivide(shape.taps * shape.panelsPerTap, split.panelParts) *
      kFilterPanel);
  double cycles = depth * (rows * columns / 32 + rows / 3 + columns / 16);
  if (filterGradientIsDirect(shape, split))
    return cycles;
  double sums = static_cast<double>(shape.rows * shape.columns) *
                static_cast<double>(split.depthParts + 1);
  return cycles + sums / 4 / static_cast<double>(split.tasks());
}

} // namespace

bool isTiledFilterGradient(const ConvolutionSpec &spec) {
  if (spec.kind != ConvolutionKind::BackwardFilter || spec.groups != 1 ||
      spec.filter.dims.size() != 4 || spec.filter.type != ElementType::F32 ||
      spec.source.type != ElementType::F32 ||
      spec.destination.type != ElementType::F32 ||
      !isDenseChannelsLast(spec.source) ||
      !isDenseChannelsLast(spec.destination) || !isDense(spec.filter))
    return false;
  // Rows of whole vectors.
  return spec.filter.dims[0] % 16 == 0 && spec.filter.dims[1] % 16 == 0;
}

bool filterGradientByTiles(const ConvolutionSpec &spec) {
  if (!isTiledFilterGradient(spec))
    return false;
  bool strided = spec.strides[0] > 1 || spec.strides[1] > 1;
  return strided || spec.filter.dims[2] * spec.filter.dims[3] == 1;
}

FilterGradientShape shapeFilterGradient(const ConvolutionSpec &spec) {
  constexpr int64_t kFewColumns = 256;
  int64_t filters = spec.filter.dims[0], channels = spec.filter.dims[1];
  FilterGradientShape shape;
  shape.taps = spec.filter.dims[2] * spec.filter.dims[3];
  shape.depth = spec.destination.dims[0] * spec.destination.dims[2] *
                spec.destination.dims[3];
  shape.swapped =
      shape.taps == 1 && channels < kFewColumns && channels < filters;
  shape.rows = shape.swapped ? channels : filters;
  int64_t perTap = shape.swapped ? filters : channels;
  shape.columns = shape.taps * perTap;
  shape.panelsPerTap = ceilDivide(perTap, kFilterPanel);
  return shape;
}

FilterGradientSplit splitFilterGradient(const FilterGradientShape &shape,
                                        int64_t threads) {
  FilterGradientSplit best = {1, 1, 1};
  double least = cost(shape, best);
  // A part of the depth without pixels would leave its sums undefined.
  int64_t mostDepth = std::min(threads, ceilDivide(shape.depth, kFilterDepth));
  for (int64_t depthParts = 1; depthParts <= mostDepth; ++depthParts)
    for (int64_t rowParts = 1; depthParts * rowParts <= threads; ++rowParts) {
      FilterGradientSplit split = {depthParts, rowParts,
                                   threads / (depthParts * rowParts)};
      double cycles = cost(shape, split);
      if (cycles < least) {
        least = cycles;
        best = split;
      }
    }
  return best;
}

bool filterGradientIsDirect(const FilterGradientShape &shape,
                            const FilterGradientSplit &split) {
  return split.depthParts == 1 && shape.taps == 1 && !shape.swapped;
}

int64_t filterGradientTaskFloats(const FilterGradientShape &shape) {
  int64_t depth = std::min(kFilterDepth, (shape.depth + 15) / 16 * 16);
  int64_t rows = std::min(kFilterRows, shape.rows);
  return ceilDivide(rows, kFilterTile) * filterTileFloats(depth) +
         depth * kFilterPanel;
}

int64_t filterGradientFloats(const FilterGradientShape &shape,
                             const FilterGradientSplit &split) {
  int64_t floats = split.tasks() * filterGradientTaskFloats(shape);
  if (!filterGradientIsDirect(shape, split))
    floats += split.depthParts * shape.rows * shape.columns;
  return floats;
}

} // namespace zc::kernels
