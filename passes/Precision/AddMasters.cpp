//===- AddMasters.cpp - --zc-add-masters ----------------------------------===//
//
// Steps are smaller than half a unit of 16 bits: what the optimizer updates has
// float32, whatever the model's files hold.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/States.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ADDMASTERSPASS
#include "passes/Precision/Passes.h.inc"

namespace {

/// The same numbers as float32.
ElementsAttr widenElements(ElementsAttr value, Type wide) {
  auto dense = cast<DenseFPElementsAttr>(value);
  return dense.mapValues(wide, [](const APFloat &number) {
    APFloat widened = number;
    bool inexact;
    widened.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                    &inexact);
    return widened.bitcastToAPInt();
  });
}

struct AddMasters : public impl::AddMastersPassBase<AddMasters> {
  using AddMastersPassBase::AddMastersPassBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!step) {
      getOperation().emitError("expected @step");
      return signalPassFailure();
    }
    SmallVector<StateOp> narrow;
    for (auto state : getOperation().getOps<StateOp>()) {
      if (state.getKind() == kParameter &&
          isNarrow(state.getTensorType().getElementType()))
        narrow.push_back(state);
    }
    for (StateOp state : narrow)
      if (failed(addMaster(state, step)))
        return signalPassFailure();
    numMasters += narrow.size();
  }

private:
  LogicalResult addMaster(StateOp state, func::FuncOp step) {
    auto element = cast<FloatType>(state.getTensorType().getElementType());
    widenState(state);
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (program != step)
        roundArgument(program, state, element);
    if (Value argument = findStateArgument(step, state.getSymName());
        argument && !keepsCopies) {
      widenArgument(step, cast<BlockArgument>(argument), state);
      roundWhereRead(state, cast<BlockArgument>(argument), element);
    } else if (argument) {
      FailureOr<StateOp> copy = addCopy(state, element);
      if (failed(copy))
        return failure();
      // The same argument, now of the copy.
      step.setArgAttr(cast<BlockArgument>(argument).getArgNumber(), kStateAttr,
                      FlatSymbolRefAttr::get(copy->getSymNameAttr()));
    }
    return element.isF16() ? addLossScale(getOperation(), lossScale)
                           : success();
  }

  void widenState(StateOp state) {
    Builder builder(&getContext());
    Type stored = state.getTensorType().getElementType();
    auto widened = [&](Type type) {
      return withElementType(type, builder.getF32Type());
    };
    if (auto value = state.getValue())
      state.setValueAttr(widenElements(*value, builder.getF32Type()));
    if (auto source = state.getSource()) {
      NamedAttrList entries(*source);
      entries.set("type", TypeAttr::get(stored));
      state.setSourceAttr(entries.getDictionary(&getContext()));
    }
    if (auto whole = state->getAttrOfType<TypeAttr>(dist::kWholeAttr))
      state->setAttr(dist::kWholeAttr,
                     TypeAttr::get(widened(whole.getValue())));
    state.setType(widened(state.getType()));
  }

  static void widenArgument(func::FuncOp program, BlockArgument argument,
                            StateOp state) {
    argument.setType(state.getType());
    program.setType(FunctionType::get(
        program.getContext(), program.getBody().front().getArgumentTypes(),
        program.getResultTypes()));
  }

  static void roundArgument(func::FuncOp program, StateOp state,
                            FloatType element) {
    Value found = findStateArgument(program, state.getSymName());
    if (!found)
      return;
    auto argument = cast<BlockArgument>(found);
    widenArgument(program, argument, state);
    OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
    Value rounded = convert(builder, state.getLoc(), argument, element);
    argument.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
  }
};

} // namespace
} // namespace zc
