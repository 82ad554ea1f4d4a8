#include "kernels/Calls/Division/GroupedTiles.h"

#include <algorithm>

namespace zc::kernels {

std::vector<int64_t> groupedTileSizes(int64_t rows) {
  std::vector<int64_t> sizes;
  for (int64_t size : {8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512}) {
    sizes.push_back(size);
    if (size >= rows)
      break;
  }
  return sizes;
}

std::vector<int> chooseGroupedTiles(const std::vector<int64_t> &sizes) {
  constexpr int64_t kCallRows = 16; // as long as a call takes that has no rows
  std::vector<int64_t> best(sizes.back() + 1, 0);
  std::vector<int> first(sizes.back() + 1, 0);
  for (int64_t rows = 1; rows <= sizes.back(); ++rows) {
    best[rows] = INT64_MAX;
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t left = std::max<int64_t>(0, rows - sizes[i]);
      int64_t cost = sizes[i] + kCallRows + best[left];
      if (cost < best[rows]) {
        best[rows] = cost;
        first[rows] = static_cast<int>(i);
      }
    }
  }
  return first;
}

MatmulSpec groupedTileProduct(const GroupedMatmulSpec &spec, int64_t rows,
                              bool accumulate) {
  int64_t k = spec.inner, n = spec.columns;
  MatmulSpec product;
  product.accumulate = accumulate;
  if (spec.gradient) {
    product.a = {spec.type, {k, rows}, {1, k}};
    product.b = {spec.type, {rows, n}, {n, 1}};
    product.c = {spec.resultType, {k, n}, {n, 1}};
    return product;
  }
  product.a = {spec.type, {rows, k}, {k, 1}};
  product.b = {spec.type, {k, n}, {n, 1}};
  if (spec.transposed)
    product.b.strides = {1, k};
  product.c = {spec.resultType, {rows, n}, {n, 1}};
  return product;
}

static uint64_t tileBytes(const GroupedMatmulSpec &spec, int64_t width,
                          ElementType type) {
  int64_t bytes =
      groupedTileSizes(spec.rows).back() * width * elementBytes(type);
  return uint64_t(bytes + 63) / 64 * 64;
}

uint64_t groupedInnerBytes(const GroupedMatmulSpec &spec) {
  return tileBytes(spec, spec.inner, spec.type);
}

uint64_t groupedColumnBytes(const GroupedMatmulSpec &spec) {
  return tileBytes(spec, spec.columns,
                   spec.gradient ? spec.type : spec.resultType);
}

} // namespace zc::kernels
