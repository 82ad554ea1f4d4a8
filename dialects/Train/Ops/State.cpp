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

/// A mark of the dist dialect, which stands on this one.
static constexpr llvm::StringLiteral kWholeAttr = "dist.whole";

RankedTensorType StateOp::getWholeType() {
  auto whole = (*this)->getAttrOfType<TypeAttr>(kWholeAttr);
  return whole ? cast<RankedTensorType>(whole.getValue()) : getTensorType();
}

/// Its memory and its division among ranks.
static LogicalResult verifyPlace(StateOp state) {
  if (state.getHostUpdate() && !state.getOffloaded())
    return state.emitOpError("is updated on the host, and not offloaded");
  if (state.getUnitOffset() && !state.getUnit())
    return state.emitOpError("has a unit_offset, and no unit");
  if (state.getUnit() && !state.getUnitOffset())
    return state.emitOpError("has a unit, and no unit_offset");
  if (state.getUnitStage() && state.getKind() != StateKind::Gathered)
    return state.emitOpError("has a unit_stage, and is of kind ")
           << stringifyStateKind(state.getKind()) << "; expected "
           << stringifyStateKind(StateKind::Gathered);
  if (state.getPerRank() && state.getKind() != kOptimizer)
    return state.emitOpError("is per_rank, and of kind ")
           << stringifyStateKind(state.getKind()) << "; expected "
           << stringifyStateKind(kOptimizer);
  return success();
}

/// Offsets, stages and steps are counted from 0.
static LogicalResult verifyNumbers(StateOp state) {
  const std::pair<StringRef, IntegerAttr> numbers[] = {
      {"offset", state.getOffsetAttr()},
      {"unit_offset", state.getUnitOffsetAttr()},
      {"unit_stage", state.getUnitStageAttr()},
      {"delay", state.getDelayAttr()}};
  for (auto [name, number] : numbers)
    if (number && number.getInt() < 0)
      return state.emitOpError("expected ")
             << name << " of at least 0, found " << number.getInt();
  if (IntegerAttr age = state.getVersionAgeAttr(); age && age.getInt() < -1)
    return state.emitOpError("expected version_age of at least -1, found ")
           << age.getInt();
  return success();
}

/// Its roles, messages and versions in a pipeline.
static LogicalResult verifyPipeline(StateOp state) {
  if ((state.getRing() || state.getMessages()) && state.getKind() != kFlight)
    return state.emitOpError("lies in a ring, or is a message, and is of kind ")
           << stringifyStateKind(state.getKind()) << "; expected "
           << stringifyStateKind(kFlight);
  if (ArrayAttr messages = state.getMessagesAttr();
      messages && !llvm::all_of(messages, llvm::IsaPred<DictionaryAttr>))
    return state.emitOpError("expected messages that are dictionaries, found ")
           << messages;
  if (state.getVersionAge().has_value() != state.getVersionOf().has_value())
    return state.emitOpError("expected version_of with version_age, found one "
                             "of them");
  if (std::optional<ArrayRef<int64_t>> holders = state.getHolders();
      holders && (holders->empty() || holders->front() < 0 ||
                  !llvm::is_sorted(*holders, std::less_equal<int64_t>())))
    return state.emitOpError("expected one or more ascending holders, from 0 "
                             "on, found ")
           << state.getHoldersAttr();
  return success();
}

/// The blocks of its dims, its optimizer settings, the axis it is a place on.
static LogicalResult verifyFacts(StateOp state) {
  ArrayAttr blocks = state.getBlocksAttr();
  if (blocks && int64_t(blocks.size()) != state.getTensorType().getRank())
    return state.emitOpError("expected blocks of each of ")
           << state.getTensorType().getRank() << " dims, found " << blocks;
  if (state.getCoordinate() && state.getKind() != kScalar)
    return state.emitOpError("is a coordinate, and of kind ")
           << stringifyStateKind(state.getKind()) << "; expected "
           << stringifyStateKind(kScalar);
  for (NamedAttribute each : state.getGroupAttr()
                                 ? state.getGroupAttr()
                                 : DictionaryAttr::get(state.getContext()))
    if ((each.getName() != "lr_scale" && each.getName() != "weight_decay") ||
        !isa<FloatAttr>(each.getValue()))
      return state.emitOpError("expected a group of lr_scale and weight_decay, "
                               "which are numbers, found ")
             << state.getGroupAttr();
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
  if (failed(verifyPlace(*this)) || failed(verifyNumbers(*this)) ||
      failed(verifyPipeline(*this)) || failed(verifyFacts(*this)))
    return failure();
  return getDraw() ? verifyDraw(*this) : success();
}

} // namespace zc::train
