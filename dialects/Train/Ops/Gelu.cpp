//===- Gelu.cpp - train.gelu --------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

// sqrt(2/pi) and the cubic term of the tanh approximation.
static constexpr double kTanhScale = 0.7978845608028654;
static constexpr double kTanhCubic = 0.044715;

Value GeluOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0];
  Type type = x.getType();
  Value one = s.constant(type, 1);
  Value half = s.mul(x, s.constant(type, 0.5));
  if (!getTanh()) {
    Value scaled = s.mul(x, s.constant(type, 0.7071067811865476));
    return s.mul(half, s.add(one, s.erf(scaled)));
  }
  Value cube = s.mul(s.mul(x, x), x);
  Value inner = s.add(x, s.mul(cube, s.constant(type, kTanhCubic)));
  Value bend = s.tanh(s.mul(inner, s.constant(type, kTanhScale)));
  return s.mul(half, s.add(one, bend));
}

LogicalResult GeluOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  // One op from the input, so that no intermediate is kept for the backward.
  operandGrads[0] = GeluGradOp::create(builder, getLoc(), getInput().getType(),
                                       getInput(), resultGrads[0], getTanh());
  return success();
}

Value GeluGradOp::buildScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarBuilder s(builder, loc);
  Value x = operands[0], grad = operands[1];
  Type type = x.getType();
  Value one = s.constant(type, 1), half = s.constant(type, 0.5);
  if (!getTanh()) {
    // Phi(x) + x phi(x)
    Value scaled = s.mul(x, s.constant(type, 0.7071067811865476));
    Value cdf = s.mul(half, s.add(one, s.erf(scaled)));
    Value square = s.mul(s.mul(x, x), s.constant(type, -0.5));
    Value density = s.mul(s.exp(square), s.constant(type, 0.3989422804014327));
    return s.mul(grad, s.add(cdf, s.mul(x, density)));
  }
  // (1 + t)/2 + x/2 (1 - t^2) u, t = tanh(inner), u = d inner / dx
  Value square = s.mul(x, x);
  Value inner = s.add(x, s.mul(s.mul(square, x), s.constant(type, kTanhCubic)));
  Value t = s.tanh(s.mul(inner, s.constant(type, kTanhScale)));
  Value u = s.add(s.constant(type, kTanhScale),
                  s.mul(square, s.constant(type, 3 * kTanhScale * kTanhCubic)));
  Value left = s.mul(half, s.add(one, t));
  Value right = s.mul(s.mul(half, x), s.mul(s.sub(one, s.mul(t, t)), u));
  return s.mul(grad, s.add(left, right));
}

} // namespace zc::train
