#include "runtime/Simulate/ProductLaw.h"

#include <algorithm>
#include <cmath>
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

ProductLaw::ProductLaw(const std::vector<MeasuredMatmul> &rows) {
  constexpr size_t kFewest = 3 * kParts;
  for (const MeasuredMatmul &row : rows)
    most = std::max(most, row.flopsPerSecond);
  if (rows.size() < kFewest)
    return;
  std::vector<Parts> relative; // the share of its time that each part has
  for (const MeasuredMatmul &row : rows) {
    relative.push_back(partsOf(row));
    for (double &part : relative.back())
      part *= row.flopsPerSecond;
  }
  seconds = fit(relative);
}

double ProductLaw::flopsPerSecond(const MeasuredMatmul &product) const {
  const Parts parts = partsOf(product);
  const double time =
      std::inner_product(parts.begin(), parts.end(), seconds.begin(), 0.0);
  return isKnown() ? 1 / std::max(time, 1 / most) : 1;
}

namespace {

/// How far two products lie apart: a dim that is twice as long counts 1, and so
/// does an operand that is stored the other way.
double apart(const MeasuredMatmul &a, const MeasuredMatmul &b) {
  auto squareOf = [](int64_t one, int64_t other) {
    const double log = std::log2(double(one)) - std::log2(double(other));
    return log * log;
  };
  return squareOf(a.m, b.m) + squareOf(a.n, b.n) + squareOf(a.k, b.k) +
         squareOf(a.batch, b.batch) + (a.transposesA != b.transposesA) +
         (a.transposesB != b.transposesB);
}

} // namespace

MeasuredProducts::MeasuredProducts(std::vector<MeasuredMatmul> rows) {
  for (const MeasuredMatmul &row : rows)
    byType[row.dtype].rows.push_back(row);
  for (auto &[dtype, type] : byType)
    type.law = ProductLaw(type.rows);
}

const std::vector<MeasuredMatmul> &
MeasuredProducts::rows(plan::DataType type) const {
  static const std::vector<MeasuredMatmul> kNone;
  const auto found = byType.find(type);
  return found == byType.end() ? kNone : found->second.rows;
}

/// Weighted by inverse squared distance.
double MeasuredProducts::flopsPerSecond(const MeasuredMatmul &product) const {
  constexpr size_t kNeighbours = 8;
  constexpr double kMostCorrection = 2; // of a law, either way
  const auto found = byType.find(product.dtype);
  if (found == byType.end())
    return 0;
  const auto &[rows, law] = found->second;
  std::vector<std::pair<double, double>> near; // distance, log of rate by law's
  near.reserve(rows.size());
  for (const MeasuredMatmul &row : rows)
    near.push_back({apart(row, product),
                    std::log(row.flopsPerSecond / law.flopsPerSecond(row))});
  const size_t count = std::min(kNeighbours, near.size());
  std::partial_sort(near.begin(), near.begin() + ptrdiff_t(count), near.end());
  double sum = 0, weights = 0;
  for (size_t i = 0; i < count; ++i) {
    const double weight = 1 / (near[i].first + 1e-6);
    sum += weight * near[i].second;
    weights += weight;
  }
  double correction = std::exp(sum / weights);
  if (law.isKnown())
    correction = std::clamp(correction, 1 / kMostCorrection, kMostCorrection);
  return std::min(law.quickest(), correction * law.flopsPerSecond(product));
}

} // namespace zc
