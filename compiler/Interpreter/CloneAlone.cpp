//===- CloneAlone.cpp - an op in a module of its own ----------------------===//
#include "compiler/Interpreter/CloneAlone.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace zc::interpreter {

OwningOpRef<ModuleOp> cloneAlone(Operation *op, TypeRange operands,
                                 TypeRange results) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  IRMapping arguments;
  for (auto [operand, type] : llvm::zip_equal(op->getOperands(), operands))
    arguments.map(operand, module->getBody()->addArgument(type, op->getLoc()));
  Operation *alone = builder.clone(*op, arguments);
  for (auto [result, type] : llvm::zip_equal(alone->getResults(), results))
    result.setType(type);
  return module;
}

} // namespace zc::interpreter
