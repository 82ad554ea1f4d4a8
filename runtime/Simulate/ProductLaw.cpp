#include "runtime/Simulate/ProductLaw.h"

#include <algorithm>
#include <numeric>

namespace zc {
namespace {

/// Solves a symmetric system by elimination, of the rows and columns in use;
/// the unknowns of others are 0.
template <size_t N>
std::array<double, N> solve(std::array<std::array<double, N>, N> matrix,
                            std::array<double, N> values,
                            const std::array<bool, N> &isUsed) {
  for (size_t i = 0; i < N; ++i)
    for (size_t row = 0; row < N; ++row) {
      if (!isUsed[i] || !isUsed[row] || row == i)
        continue;
      const double factor = matrix[row][i] / matrix[i][i];
      for (size_t column = 0; column < N; ++column)
        matrix[row][column] -= factor * matrix[i][column];
      values[row] -= factor * values[i];
    }
  for (size_t i = 0; i < N; ++i)
    values[i] = isUsed[i] ? values[i] / matrix[i][i] : 0;
  return values;
}

} // namespace

ProductLaw::Parts ProductLaw::partsOf(const MeasuredMatmul &product) {
  const double m = double(product.m), n = double(product.n),
               k = double(product.k);
  return {1, 1 / m, 1 / n, 1 / k, 1 / (m * n * k * double(product.batch))};
}

/// The part that would be the most below 0 is left out until none is.
ProductLaw::Parts ProductLaw::fit(const std::vector<Parts> &relative) {
  std::array<Parts, kParts> matrix{};
  Parts values{};
  for (const Parts &row : relative)
    for (size_t i = 0; i < kParts; ++i) {
      values[i] += row[i];
      for (size_t j = 0; j < kParts; ++j)
        matrix[i][j] += row[i] * row[j];
    }
  for (size_t i = 0; i < kParts; ++i) // where all rows are alike
    matrix[i][i] *= 1 + 1e-9;
  std::array<bool, kParts> isUsed;
  isUsed.fill(true);
  while (true) {
    const Parts found = solve(matrix, values, isUsed);
    const auto least = std::min_element(found.begin(), found.end());
    if (*least >= 0)
      return found;
    isUsed[size_t(least - found.begin())] = false;
  }
}

ProductLaw::ProductLaw(const std::vector<MeasuredMatmul> &rows,
                       plan::DataType type) {
  constexpr size_t kFewest = 3 * kParts;
  std::vector<Parts> relative; // the share of its time that each part has
  for (const MeasuredMatmul &row : rows) {
    if (row.dtype != type)
      continue;
    relative.push_back(partsOf(row));
    for (double &part : relative.back())
      part *= row.flopsPerSecond;
  }
  if (relative.size() >= kFewest)
    seconds = fit(relative);
}

double ProductLaw::flopsPerSecond(const MeasuredMatmul &product) const {
  const Parts parts = partsOf(product);
  const double time =
      std::inner_product(parts.begin(), parts.end(), seconds.begin(), 0.0);
  return time > 0 ? 1 / time : 1;
}

} // namespace zc
