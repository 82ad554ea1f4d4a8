// Products that were measured, and a law for the rates of others.
#ifndef ZC_RUNTIME_SIMULATE_PRODUCTLAW_H
#define ZC_RUNTIME_SIMULATE_PRODUCTLAW_H

#include "kernels/Calls/Call.h"
#include "runtime/Plan/Manifest.pb.h"

#include <array>
#include <map>
#include <vector>

namespace zc {

/// A product that was measured.
struct MeasuredMatmul : kernels::CallProduct {
  plan::DataType dtype = plan::F32;
  double flopsPerSecond = 0;
};

/// Seconds of one FLOP of a product [m, k] x [k, n]: of the arithmetic, of
/// bringing the operands and the result, 1/n, 1/m and 1/k of a FLOP each, and
/// of its part of the call. Measured products lie around the law; far from all
/// of them it says more than the nearest does.
class ProductLaw {
public:
  /// The parts of one FLOP: 1, 1/m, 1/n, 1/k, 1/(m n k batch).
  static constexpr size_t kParts = 5;
  using Parts = std::array<double, kParts>;

  /// Says 1 for all.
  ProductLaw() = default;
  /// Least squares of the relative errors of the rows, which are of one type,
  /// with no part below 0. Where they are few, it says 1 for all.
  explicit ProductLaw(const std::vector<MeasuredMatmul> &rows);

  bool isKnown() const { return seconds != Parts(); }
  /// FLOP/s of the quickest row, of few ones, too; 0 where there is none.
  double quickest() const { return most; }

  /// No more than the quickest of the rows.
  double flopsPerSecond(const MeasuredMatmul &product) const;

  /// Seconds of each part; all 0 where there is no law.
  const Parts &secondsOfParts() const { return seconds; }

private:
  static Parts partsOf(const MeasuredMatmul &product);
  static Parts fit(const std::vector<Parts> &relative);

  Parts seconds{};
  double most = 0;
};

/// Measured products of all types, with a law for each type.
class MeasuredProducts {
public:
  MeasuredProducts() = default;
  explicit MeasuredProducts(std::vector<MeasuredMatmul> rows);

  bool empty() const { return byType.empty(); }

  /// The law's rate, times how far the nearest rows of its type are from the
  /// law; no more than the quickest row's. 0 where no row has its type.
  double flopsPerSecond(const MeasuredMatmul &product) const;

  /// The products of a type, as they were given.
  const std::vector<MeasuredMatmul> &rows(plan::DataType type) const;

private:
  struct Type {
    std::vector<MeasuredMatmul> rows;
    ProductLaw law;
  };
  std::map<plan::DataType, Type> byType;
};

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_PRODUCTLAW_H
