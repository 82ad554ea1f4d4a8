//===- StackedParameters.cpp - parameters of one expert each --------------===//
//
// A model whose experts are modules of their own has a parameter for each, and
// stacks them in every step. A rank that has some of the experts would need
// some of the parameters; but all ranks run one program. So they are one state,
// as those that ZeRO divides are: its ranks' shares are those of some experts.
//
//===----------------------------------------------------------------------===//
#include "passes/Experts/StackedParameters.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/ParameterGroup.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static Value stripReshapes(Value value) {
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getInput();
  return value;
}

StateOp findStacked(Value stacked) {
  if (StateOp state = findState(stacked))
    return state;
  StateOp state = findState(stripReshapes(stacked));
  bool isVector = state && state.getTensorType().getRank() == 1;
  auto module = state ? state->getParentOfType<ModuleOp>() : ModuleOp();
  return isVector && !dist::getUnitMembers(module, state.getSymName()).empty()
             ? state
             : StateOp();
}

/// The state of each part, if nothing else reads it and all are trained alike.
static SmallVector<StateOp> findParameters(ConcatOp stack) {
  SmallVector<StateOp> states;
  for (Value part : stack.getInputs()) {
    Value source = stripReshapes(part);
    StateOp state = findState(source);
    if (!state || llvm::is_contained(states, state) || !source.hasOneUse() ||
        !part.hasOneUse())
      return {};
    states.push_back(state);
  }
  StateOp first = states.front();
  auto decayOf = [](StateOp state) { return state.getDecay(); };
  auto isLike = [&](StateOp state) {
    return state.getKind() == kParameter &&
           state.getTensorType() == first.getTensorType() &&
           decayOf(state) == decayOf(first) &&
           state.getGroupAttr() == first.getGroupAttr() &&
           state.hasInitialValue() == first.hasInitialValue() &&
           !state->hasAttr(dist::kShardingAttr);
  };
  return llvm::all_of(states, isLike) ? states : SmallVector<StateOp>();
}

/// Adds the vector, and moves its members to where files alone know them.
static StateOp addVector(ArrayRef<StateOp> members) {
  StateOp first = members.front();
  auto module = first->getParentOfType<ModuleOp>();
  int64_t size = first.getTensorType().getNumElements();
  std::string name;
  int64_t number = 0;
  do
    name = "experts." + std::to_string(number++);
  while (module.lookupSymbol(name));
  StateOp vector =
      addState(module, name,
               RankedTensorType::get({size * int64_t(members.size())},
                                     first.getTensorType().getElementType()),
               kParameter, first.getLoc());
  vector.setDecay(first.getDecay());
  ParameterGroup::of(first).setOn(vector);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto nested = module.lookupSymbol<ModuleOp>(dist::kUnitModule);
  if (!nested)
    nested = ModuleOp::create(builder, module.getLoc(), dist::kUnitModule);
  for (auto [index, each] : llvm::enumerate(members)) {
    StateOp member = each;
    member.setUnit(vector.getSymName());
    member.setUnitOffset(int64_t(index) * size);
    member->moveBefore(nested.getBody(), nested.getBody()->end());
  }
  return vector;
}

StateOp packStacked(Value stacked) {
  auto stack = stacked.getDefiningOp<ConcatOp>();
  if (!stack || stack.getDim() != 0)
    return {};
  SmallVector<StateOp> members = findParameters(stack);
  if (members.empty())
    return {};
  auto program = stack->getParentOfType<func::FuncOp>();
  llvm::BitVector unused(program.getNumArguments());
  for (Value part : stack.getInputs())
    unused.set(cast<BlockArgument>(stripReshapes(part)).getArgNumber());
  StateOp vector = addVector(members);
  Value whole = getStateArgument(program, vector);
  unused.resize(program.getNumArguments());
  OpBuilder builder(stack);
  stack.getResult().replaceAllUsesWith(
      reshape(builder, stack.getLoc(), whole,
              cast<RankedTensorType>(stack.getType()).getShape()));
  SmallVector<Value> parts(stack.getInputs());
  stack.erase();
  for (Value part : parts)
    while (auto view = part.getDefiningOp<ReshapeOp>()) {
      part = view.getInput();
      view.erase();
    }
  (void)program.eraseArguments(unused);
  return vector;
}

} // namespace zc
