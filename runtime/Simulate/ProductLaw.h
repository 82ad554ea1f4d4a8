// A law for the rates of products, out of measured ones.
#ifndef ZC_RUNTIME_SIMULATE_PRODUCTLAW_H
#define ZC_RUNTIME_SIMULATE_PRODUCTLAW_H

#include "runtime/Simulate/Cluster.h"

#include <array>

namespace zc {

/// Seconds of one FLOP of a product [m, k] x [k, n]: of the arithmetic, of
/// bringing the operands and the result, 1/n, 1/m and 1/k of a FLOP each, and
/// of its part of the call. Measured products lie around the law; far from all
/// of them it says more than the nearest does.
class ProductLaw {
public:
  /// Least squares of the relative errors of the rows of that type, with no
  /// part below 0. Where they are few, it says 1 for all.
  ProductLaw(const std::vector<MeasuredMatmul> &rows, plan::DataType type);

  double flopsPerSecond(const MeasuredMatmul &product) const;

private:
  static constexpr size_t kParts = 5;
  using Parts = std::array<double, kParts>;
  static Parts partsOf(const MeasuredMatmul &product);
  static Parts fit(const std::vector<Parts> &relative);

  Parts seconds{}; // of each part; all 0: no law
};

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_PRODUCTLAW_H
