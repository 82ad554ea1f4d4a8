//===- State.cpp - train.state ------------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

static LogicalResult verifyDraw(StateOp state) {
  DictionaryAttr draw = *state.getDraw();
  if (state.getValue() || state.getSource())
    return state.emitOpError("has an initial value and draws another");
  unsigned kinds = 0;
  for (StringRef kind :
       {kDrawConstant, kDrawUniform, kDrawNormal, kDrawTruncated})
    kinds += bool(draw.getAs<FloatAttr>(kind));
  bool random = !draw.contains(kDrawConstant);
  if (kinds != 1 || (random && !draw.getAs<IntegerAttr>(kDrawIndex)))
    return state.emitOpError("expected a draw that is constant, or uniform, "
                             "normal or truncated_normal with an index, found ")
           << draw;
  if (!isa<FloatType>(state.getTensorType().getElementType()))
    return state.emitOpError("draws no floating-point numbers");
  return success();
}

bool isAmaxHistory(StateOp state) {
  return state.getKind() == kOptimizer && state.getSlot() &&
         state.getSlot()->starts_with(kAmaxSlotPrefix);
}

RankedTensorType StateOp::getWholeType() {
  // An attribute of the dist dialect, on which this one does not depend.
  auto whole = (*this)->getAttrOfType<TypeAttr>("dist.whole");
  return whole ? cast<RankedTensorType>(whole.getValue()) : getTensorType();
}

/// Where it lies, and what for.
static LogicalResult verifyPlace(StateOp state) {
  if (state.getHostUpdate() && !state.getOffloaded())
    return state.emitOpError("is updated on the host, and not offloaded");
  if (state.getUnitOffset() && !state.getUnit())
    return state.emitOpError("has a unit_offset, and no unit");
  if ((state.getRing() || state.getMessages()) && state.getKind() != kFlight)
    return state.emitOpError("lies in a ring, or is a message, and is of kind ")
           << stringifyStateKind(state.getKind()) << "; expected "
           << stringifyStateKind(kFlight);
  if (state.getVersionAge().has_value() != state.getVersionOf().has_value())
    return state.emitOpError("expected version_of with version_age, found one "
                             "of them");
  if (std::optional<ArrayRef<int64_t>> holders = state.getHolders();
      holders && !llvm::is_sorted(*holders))
    return state.emitOpError("expected ascending holders, found ")
           << state.getHoldersAttr();
  return success();
}

LogicalResult StateOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("expected a ranked tensor of static shape, got ")
           << getType();
  if (getValue() && getSource())
    return emitOpError("has both a value and a source");
  if (getValue() && getValue()->getType() != getWholeType())
    return emitOpError("value has type ") << getValue()->getType();
  if (failed(verifyPlace(*this)))
    return failure();
  return getDraw() ? verifyDraw(*this) : success();
}

} // namespace zc::train
