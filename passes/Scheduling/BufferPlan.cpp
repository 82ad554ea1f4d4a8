//===- BufferPlan.cpp - which values share memory -------------------------===//
#include "passes/Scheduling/BufferPlan.h"
#include "passes/Scheduling/TrainProgram.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

BufferPlan::BufferPlan(func::FuncOp program)
    : program(program), spans(program) {
  numberUses();
  placeReturnedValues();
  for (FusedOp op : program.getOps<FusedOp>())
    placeResults(op);
}

void BufferPlan::numberUses() {
  unsigned position = 0;
  for (FusedOp op : program.getOps<FusedOp>()) {
    positions[op] = position;
    for (Value operand : op.getInputs()) {
      Value root = getTensorRoot(operand);
      lastUses[root] = position;
      if (op.getAsync())
        senders[root].push_back(op);
    }
    for (Value result : op.getResults())
      homes[result] = Home();
    ++position;
  }
  for (BlockArgument argument : program.getArguments())
    if (FlatSymbolRefAttr state = getArgumentState(argument))
      oldValues[state] = argument;
  for (auto [index, operand] :
       llvm::enumerate(getReturn(program).getOperands())) {
    Value root = getTensorRoot(operand);
    returned.insert(root);
    FlatSymbolRefAttr state = getResultState(program, index);
    if (state && oldValues.lookup(state) != root)
      updated.insert(state);
  }
}

void BufferPlan::placeReturnedValues() {
  for (auto [index, operand] :
       llvm::enumerate(getReturn(program).getOperands())) {
    Value root = getTensorRoot(operand);
    FlatSymbolRefAttr state = getResultState(program, index);
    FlatSymbolRefAttr source = getArgumentState(root);
    if (state && state == source)
      continue; // the state keeps its value
    if (source && isUpdated(source))
      savedValues.push_back(index);
    if (!state)
      continue;
    Home home{Home::InState, state, {}};
    auto result = dyn_cast<OpResult>(root);
    if (result && !isPart(operand) && homes[result].kind == Home::Fresh &&
        canWriteInState(result, state, home.operands)) {
      homes[result] = home;
      placeSumsBefore(result, state);
    } else {
      finalCopies.push_back(index);
    }
  }
}

/// The result of another op that `result` may be written over; null: none.
OpResult BufferPlan::findOverwritten(OpResult result) const {
  auto op = cast<FusedOp>(result.getOwner());
  ArrayRef<int64_t> pairs = op.getSharedBuffers();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i + 1] == result.getResultNumber() &&
        !findFree(op, pairs[i], pairs[i + 1]).empty())
      return cast<OpResult>(getTensorRoot(op.getInputs()[pairs[i]]));
  return nullptr;
}

/// A state's new value may be a sum to which several ops add in place, one
/// after another: then the first adds to the state, too.
void BufferPlan::placeSumsBefore(OpResult last, FlatSymbolRefAttr state) {
  SmallVector<OpResult> sums = {last};
  Home first{Home::InState, state, {}};
  while (first.operands.empty()) {
    const OpResult before = findOverwritten(sums.back());
    if (!before || homes[before].kind != Home::Fresh ||
        !canWriteInState(before, state, first.operands))
      return;
    sums.push_back(before);
  }
  homes[sums.back()] = first;
  for (auto [sum, before] :
       llvm::zip(ArrayRef(sums).drop_back(), ArrayRef(sums).drop_front()))
    homes[sum] = {Home::InState, state,
                  operandsWithRoot(cast<FusedOp>(sum.getOwner()), before)};
}

/// Whether an async collective may still read `root` while `op` runs.
bool BufferPlan::isSent(Value root, FusedOp op) const {
  auto found = senders.find(root);
  return found != senders.end() && !op.getAsync() &&
         llvm::any_of(found->second, [&](FusedOp sender) {
           return spans.getEnd(sender) > positions.at(op);
         });
}

bool BufferPlan::canWriteInState(OpResult result, FlatSymbolRefAttr state,
                                 SmallVectorImpl<unsigned> &operands) const {
  Value old = oldValues.lookup(state);
  auto lastUse = lastUses.find(old);
  if (!old || lastUse == lastUses.end())
    return true;
  auto op = cast<FusedOp>(result.getOwner());
  unsigned position = positions.at(op);
  if (isSent(old, op))
    return false;
  if (lastUse->second != position)
    return lastUse->second < position;
  operands = operandsWithRoot(op, old);
  return mayShare(op, operands, result.getResultNumber());
}

bool BufferPlan::isFreeAfter(Value root, FusedOp op) const {
  auto home = homes.find(root);
  return home != homes.end() && home->second.kind != Home::InState &&
         !returned.contains(root) && !isSent(root, op) &&
         lastUses.at(root) == positions.at(op);
}

/// The operands of an op that are the memory of `operand`, where its result may
/// be written there and nobody reads it later.
SmallVector<unsigned> BufferPlan::findFree(FusedOp op, int64_t operand,
                                           int64_t result) const {
  const Value value = op.getInputs()[operand], root = getTensorRoot(value);
  // In a part, the result would keep all of the root.
  if (isPart(value) || !isFreeAfter(root, op))
    return {};
  SmallVector<unsigned> operands = operandsWithRoot(op, root);
  if (!mayShare(op, operands, result))
    operands.clear();
  return operands;
}

void BufferPlan::placeResults(FusedOp op) {
  llvm::SmallDenseSet<Value> taken;
  ArrayRef<int64_t> pairs = op.getSharedBuffers();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    Home &home = homes[op.getResult(pairs[i + 1])];
    Value root = getTensorRoot(op.getInputs()[pairs[i]]);
    if (home.kind != Home::Fresh || taken.contains(root))
      continue;
    SmallVector<unsigned> operands = findFree(op, pairs[i], pairs[i + 1]);
    if (operands.empty())
      continue;
    home.kind = Home::InOperand;
    home.operands.assign(operands.begin(), operands.end());
    taken.insert(root);
  }
}

} // namespace zc
