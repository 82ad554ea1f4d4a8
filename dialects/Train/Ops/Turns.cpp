#include "dialects/Train/Ops/Turns.h"

using namespace mlir;

namespace zc::train {

Value withoutTurns(ScalarBuilder &s, Value angle) {
  if (!angle.getType().isF32())
    return angle;
  Type f64 = s.builder.getF64Type();
  Value wide = arith::ExtFOp::create(s.builder, s.loc, f64, angle);
  Value turns = math::RoundEvenOp::create(
      s.builder, s.loc, s.mul(wide, s.constant(f64, 1 / (2 * M_PI))));
  Value rest = s.sub(wide, s.mul(turns, s.constant(f64, 2 * M_PI)));
  return arith::TruncFOp::create(s.builder, s.loc, angle.getType(), rest);
}

} // namespace zc::train
