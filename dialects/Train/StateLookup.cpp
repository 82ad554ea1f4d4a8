//===- StateLookup.cpp - from a program's arguments to the states ---------===//
#include "dialects/Train/StateLookup.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace zc::train {

StateOp findState(Operation *inside, Attribute symbol) {
  auto name = dyn_cast_or_null<FlatSymbolRefAttr>(symbol);
  Operation *table =
      name ? SymbolTable::getNearestSymbolTable(inside) : nullptr;
  if (!table)
    return StateOp();
  // A model has hundreds of states and asks for each again and again: names are
  // unique objects, whose comparison takes far less than a symbol's lookup.
  for (auto state : table->getRegion(0).front().getOps<StateOp>())
    if (state.getSymNameAttr() == name.getAttr())
      return state;
  return StateOp();
}

StateOp findState(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto program =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  return program ? findState(program, program.getArgAttr(
                                          argument.getArgNumber(), kStateAttr))
                 : StateOp();
}

DenseElementsAttr findConstant(Value value) {
  DenseElementsAttr data;
  if (matchPattern(value, m_Constant(&data)))
    return data;
  StateOp state = findState(value);
  if (!state || state.getKind() != kConstant || !state.getValue())
    return nullptr;
  return dyn_cast<DenseElementsAttr>(*state.getValue());
}

} // namespace zc::train
