//===- SparseKept.cpp - what a ReLU has made, without its zeros -----------===//
//
// Gist's sparse storage for ReLU and convolution: everything is planned, so the
// share of elements that are not zero has a bound that the user chooses. Beyond
// it a run ends, before any parameter has changed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/SparseSupport.h"
#include "passes/Memory/KeptEncoder.h"
#include "passes/Scheduling/TrainProgram.h"

#include <cmath>

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// The op in the region of a fused op that computes `value`; null if none.
Operation *findMaker(Value value) {
  auto region = getTensorRoot(value).getDefiningOp<FusedOp>();
  if (!region || getTensorRoot(value) != value)
    return nullptr;
  return region.getBody()
      .front()
      .getTerminator()
      ->getOperand(cast<OpResult>(value).getResultNumber())
      .getDefiningOp();
}

/// Whether no element of a region's argument can be below 0.
bool isNeverNegative(Value inRegion) {
  auto argument = dyn_cast<BlockArgument>(inRegion);
  if (!argument)
    return isa_and_nonnull<ReluOp>(inRegion.getDefiningOp());
  Value outside =
      argument.getOwner()->getParentOp()->getOperand(argument.getArgNumber());
  return isa_and_nonnull<ReluOp, MaxPoolOp, MaxPoolPlacesOp>(
      findMaker(outside));
}

/// A ReLU whose result has many zeros. Behind a residual connection it has few:
/// one of the two terms is never below 0, so most sums are above 0.
ReluOp findSparseRelu(Value value) {
  auto relu = dyn_cast_or_null<ReluOp>(findMaker(value));
  auto sum = relu ? relu.getInput().getDefiningOp<AddOp>() : AddOp();
  bool isDense =
      sum && (isNeverNegative(sum.getLhs()) || isNeverNegative(sum.getRhs()));
  return isDense ? ReluOp() : relu;
}

class Sparse : public KeptEncoder {
public:
  explicit Sparse(double density) : density(density) {}

  bool accepts(const KeptValue &kept) const override {
    RankedTensorType type = kept.getType();
    Type element = type.getElementType();
    if (!element.isF32() && !element.isBF16() && !element.isF16())
      return false;
    bool isProduct = llvm::any_of(kept.backward, [](OpOperand *read) {
      Operation &op = cast<FusedOp>(read->getOwner()).getBody().front().front();
      return isa<ConvFilterGradOp, MatmulOp, MatmulAddOp>(op);
    });
    double bits = 1.0 / element.getIntOrFloatBitWidth();
    return isProduct && bits + density < kMostKept &&
           findSparseRelu(kept.value);
  }

  bool isElementwise() const override { return false; }

  SmallVector<Value> encode(OpBuilder &builder, Location loc,
                            Value value) const override {
    auto type = cast<RankedTensorType>(value.getType());
    Type parts[] = {sparseBitsType(type), sparseOffsetsType(type),
                    sparseValuesType(type, capacity(type))};
    // The message about a list that is too short names the ReLU.
    Location where = findSparseRelu(value).getLoc();
    return llvm::to_vector(makeRegion(
        builder, where, value,
        [&](OpBuilder &inner, ValueRange arguments) {
          auto encoded = SparseEncodeOp::create(inner, where, TypeRange(parts),
                                                arguments[0]);
          return llvm::to_vector_of<Value>(encoded->getResults());
        },
        kLibrary));
  }

  Value decode(OpBuilder &builder, Location loc, ValueRange encoded,
               RankedTensorType type) const override {
    return makeRegion(
               builder, loc, encoded,
               [&](OpBuilder &inner, ValueRange arguments) {
                 return SmallVector<Value>{
                     SparseDecodeOp::create(inner, loc, type, arguments[0],
                                            arguments[1], arguments[2])
                         .getResult()};
               },
               kLibrary)
        .front();
  }

private:
  static constexpr llvm::StringLiteral kLibrary = "zc.sparse";
  /// The share of the value's bytes that the list may take. If it takes more,
  /// what is saved is not worth two more passes over the value.
  static constexpr double kMostKept = 0.95;

  int64_t capacity(RankedTensorType type) const {
    return std::max<int64_t>(
        1, static_cast<int64_t>(std::ceil(
               density * static_cast<double>(type.getNumElements()))));
  }

  double density;
};

} // namespace

std::unique_ptr<KeptEncoder> createSparseEncoder(double density) {
  return std::make_unique<Sparse>(density);
}

} // namespace zc
