#include "runtime/Simulate/FormLaw.h"

#include <algorithm>
#include <cmath>

namespace zc {
namespace {

using Row = std::vector<double>;

/// The first unknown of a symmetric, positive definite system: the others are
/// eliminated, the last one first.
double solveFirst(std::vector<Row> matrix, Row values) {
  for (size_t i = values.size(); i-- > 1;)
    for (size_t row = 0; row < i; ++row) {
      const double factor = matrix[row][i] / matrix[i][i];
      for (size_t column = 0; column < i; ++column)
        matrix[row][column] -= factor * matrix[i][column];
      values[row] -= factor * values[i];
    }
  return values[0] / matrix[0][0];
}

} // namespace

double valueOfForm(const std::vector<FormPoint> &points) {
  constexpr double kNearest = 1e-3; // closer ones count no more than this
  constexpr double kRidge = .02;    // of the slopes, where weights sum to 1
  const size_t unknowns = points.front().sizes.size() + 1;
  std::vector<Row> matrix(unknowns, Row(unknowns));
  Row values(unknowns);
  double weights = 0;
  auto [least, most] = std::minmax_element(
      points.begin(), points.end(),
      [](const FormPoint &a, const FormPoint &b) { return a.value < b.value; });
  for (const FormPoint &point : points) {
    const double weight = 1 / (point.distance + kNearest);
    weights += weight;
    Row row = {1};
    row.insert(row.end(), point.sizes.begin(), point.sizes.end());
    for (size_t i = 0; i < unknowns; ++i) {
      values[i] += weight * row[i] * point.value;
      for (size_t j = 0; j < unknowns; ++j)
        matrix[i][j] += weight * row[i] * row[j];
    }
  }
  for (size_t i = 1; i < unknowns; ++i)
    matrix[i][i] += kRidge * weights;
  return std::clamp(solveFirst(std::move(matrix), std::move(values)),
                    least->value - std::log(2), most->value + std::log(2));
}

} // namespace zc
