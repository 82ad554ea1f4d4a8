//===- TrainProgram.cpp - what a program of fused ops is made of ----------===//
#include "passes/Scheduling/TrainProgram.h"
#include "passes/Target/Target.h"

#include "dialects/Dist/Axes.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/RolePrograms.h"
#include "passes/Analysis/Views.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {

train::StateKind getWeightKind(ModuleOp module) {
  const bool hasCopies =
      llvm::any_of(module.getOps<train::StateOp>(), [](train::StateOp state) {
        return state.getKind() == train::kCopy;
      });
  return hasCopies ? train::kCopy : train::kParameter;
}

bool isOfMicroBatch(StringRef program) {
  return llvm::is_contained({kStepProgram, kMicroProgram, kForwardProgram,
                             kBackwardProgram, kWeightsProgram},
                            program.split('.').first);
}

Value getTensorRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    Value viewed = getViewed(op);
    if (!viewed)
      break;
    value = viewed;
  }
  return value;
}

bool isPart(Value value) {
  return numElements(value.getType()) !=
         numElements(getTensorRoot(value).getType());
}

int64_t getRootOffset(Value value) {
  int64_t offset = 0;
  while (Operation *op = value.getDefiningOp()) {
    Value viewed = getViewed(op);
    if (!viewed)
      break;
    offset += getViewOffset(op);
    value = viewed;
  }
  return offset;
}

FlatSymbolRefAttr getArgumentState(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return program.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                     kStateAttr);
}

FlatSymbolRefAttr getResultState(func::FuncOp program, unsigned result) {
  return program.getResultAttrOfType<FlatSymbolRefAttr>(result, kStateAttr);
}

LogicalResult checkProgram(func::FuncOp program) {
  if (!program.getBody().hasOneBlock())
    return program.emitOpError("has not one block, which a program must have");
  for (Operation &op : program.getBody().front())
    if (!isa<FusedOp, func::ReturnOp>(op) && !getViewed(&op))
      return op.emitOpError("is in no train.fused; run --zc-form-regions "
                            "before scheduling");
  return success();
}

func::ReturnOp getReturn(func::FuncOp program) {
  return cast<func::ReturnOp>(program.getBody().front().getTerminator());
}

SmallVector<unsigned> operandsWithRoot(FusedOp op, Value root) {
  SmallVector<unsigned> indices;
  for (auto [index, operand] : llvm::enumerate(op.getInputs()))
    if (getTensorRoot(operand) == root)
      indices.push_back(index);
  return indices;
}

static bool hasPair(FusedOp op, int64_t operand, int64_t result) {
  ArrayRef<int64_t> pairs = op.getSharedBuffers();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i] == operand && pairs[i + 1] == result)
      return true;
  return false;
}

bool mayShare(FusedOp op, ArrayRef<unsigned> operands, unsigned result) {
  return llvm::all_of(
      operands, [&](unsigned operand) { return hasPair(op, operand, result); });
}

bool isCollective(FusedOp op) {
  return op.getLibrary() == StringRef(kCollectiveLibrary);
}

bool isAmongRoles(FusedOp op) {
  if (!isCollective(op))
    return false;
  auto inner = cast<dist::CollectiveOpInterface>(op.getBody().front().front());
  return llvm::any_of(
      inner.getAxes().getAsRange<StringAttr>(),
      [](StringAttr axis) { return axis.getValue() == dist::kRoleAxis; });
}

bool isElementwise(Block &code) {
  return llvm::all_of(code, [](Operation &op) {
    return isa<ElementwiseOpInterface, BroadcastOp, ReshapeOp, ConstantOp,
               YieldOp>(op);
  });
}

double getFlops(FusedOp op) {
  double flops = 0;
  for (Operation &inner : op.getBody().front())
    if (auto cost = dyn_cast<CostOpInterface>(inner))
      flops += cost.getFlops();
  return flops;
}

// Views cost nothing: each stands right behind what it views.
void applyOrder(func::FuncOp program, ArrayRef<FusedOp> order) {
  llvm::DenseMap<Operation *, SmallVector<Operation *>>
      viewsOf; // null: arguments
  for (Operation &op : program.getBody().front())
    if (getViewed(&op))
      viewsOf[getTensorRoot(op.getResult(0)).getDefiningOp()].push_back(&op);
  Operation *end = getReturn(program);
  auto moveViews = [&](Operation *source) {
    for (Operation *view : viewsOf.lookup(source))
      view->moveBefore(end);
  };
  moveViews(nullptr);
  for (FusedOp op : order) {
    op->moveBefore(end);
    moveViews(op);
  }
}

double estimateSeconds(FusedOp op) {
  const Target &target = getTarget(op);
  // Generated code computes all that no library does, whatever the ops are.
  const double ofKernels = target.rates().flopsOf(WorkClass());
  WorkSum work;
  for (Operation &inner : op.getBody().front())
    if (auto cost = dyn_cast<CostOpInterface>(inner))
      work.add(cost.getFlops(),
               op.getLibrary() ? target.flopsOf(&inner) : ofKernels);
  return std::max(work.seconds(),
                  operandAndResultBytes(op) / target.rates().bytes);
}

double estimateInstructionSeconds(Operation *instruction) {
  auto cost = [&](StringRef name) {
    auto value = instruction->getAttrOfType<FloatAttr>(name);
    return value ? value.getValueAsDouble() : 0.0;
  };
  const Target &target = getTarget(instruction);
  return std::max(cost("flops") / target.flopsOf(instruction),
                  cost("bytes") / target.rates().bytes);
}

} // namespace zc
