//===- SignBits.cpp - saved activations that only need their signs --------===//
//
// Many saved activations are read only for the slope of a ReLU. Regions that
// make and read the value test it, so that a truth value crosses to the
// backward; then eight of them are packed to a byte.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/BitSupport.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Memory/KeptEncoder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// Whether a region reads its argument only to ask where it is above 0.
bool asksForSign(OpOperand *read) {
  auto reader = cast<FusedOp>(read->getOwner());
  Block &body = reader.getBody().front();
  Value argument = body.getArgument(read->getOperandNumber());
  bool isNest = !reader.getLibrary() &&
                llvm::all_of(body.without_terminator(), [](Operation &op) {
                  return isInlinable(&op) || isPlainReduction(&op);
                });
  return isNest && llvm::all_of(argument.getUsers(), [&](Operation *user) {
           auto compare = dyn_cast<CompareOp>(user);
           return compare && compare.getPredicate() == Predicate::Gt &&
                  compare.getLhs() == argument && isZero(compare.getRhs());
         });
}

class Sign : public KeptEncoder {
public:
  bool accepts(const KeptValue &kept) const override {
    return isa<FloatType>(kept.getType().getElementType()) &&
           llvm::all_of(kept.backward, asksForSign);
  }

  bool isElementwise() const override { return true; }

  SmallVector<Value> encode(OpBuilder &builder, Location loc,
                            Value value) const override {
    Value zero = splat(builder, loc, value.getType(), 0);
    return {compare(builder, loc, Predicate::Gt, value, zero)};
  }

  Value decode(OpBuilder &builder, Location loc, ValueRange encoded,
               RankedTensorType type) const override {
    return train::convert(builder, loc, encoded[0], type.getElementType());
  }
};

class Packed : public KeptEncoder {
public:
  bool accepts(const KeptValue &kept) const override {
    RankedTensorType type = kept.getType();
    return type.getElementType().isInteger(1) && type.getRank() > 0 &&
           2 * packedType(type, chooseDim(type)).getNumElements() <=
               type.getNumElements();
  }

  bool isElementwise() const override { return false; }

  SmallVector<Value> encode(OpBuilder &builder, Location loc,
                            Value value) const override {
    return llvm::to_vector(makeRegion(
        builder, loc, value, [&](OpBuilder &inner, ValueRange arguments) {
          return pack(inner, loc, arguments[0]);
        }));
  }

  Value decode(OpBuilder &builder, Location loc, ValueRange encoded,
               RankedTensorType type) const override {
    return makeRegion(builder, loc, encoded,
                      [&](OpBuilder &inner, ValueRange arguments) {
                        return SmallVector<Value>{
                            UnpackBitsOp::create(inner, loc, type, arguments[0],
                                                 chooseDim(type))
                                .getResult()};
                      })
        .front();
  }

private:
  static SmallVector<Value> pack(OpBuilder &builder, Location loc,
                                 Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t dim = chooseDim(type);
    return {PackBitsOp::create(builder, loc, packedType(type, dim), value, dim)
                .getResult()};
  }

  /// The dim that gives the fewest bytes, the outermost of several: so inner
  /// rows stay long.
  static int64_t chooseDim(RankedTensorType type) {
    int64_t best = 0;
    for (int64_t dim = 1; dim < type.getRank(); ++dim)
      if (packedType(type, dim).getNumElements() <
          packedType(type, best).getNumElements())
        best = dim;
    return best;
  }
};

} // namespace

std::unique_ptr<KeptEncoder> createSignEncoder() {
  return std::make_unique<Sign>();
}

std::unique_ptr<KeptEncoder> createBitEncoder() {
  return std::make_unique<Packed>();
}

} // namespace zc
