//===- ProgramConverter.h - one program as instructions ---------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_PROGRAMCONVERTER_H
#define ZC_PASSES_SCHEDULING_PROGRAMCONVERTER_H

#include "dialects/Sched/SchedDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/Scheduling/BufferPlan.h"
#include "passes/Scheduling/KernelTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace zc {

/// Writes the `sched.program` of a program whose bindings have been checked.
class ProgramConverter {
public:
  ProgramConverter(mlir::func::FuncOp source, KernelTable &kernels);

  sched::ProgramOp convert();

private:
  void convertArguments();
  void declareStates();
  void saveOldValues();
  void convertFused(train::FusedOp op);
  void waitFor(train::FusedOp collective);
  void convertCollective(mlir::Operation *inner, train::FusedOp op,
                         mlir::Value output, mlir::Value workspace);
  mlir::Value makeWorkspace(train::FusedOp op);
  void copySharedOperands(train::FusedOp op,
                          llvm::MutableArrayRef<mlir::Value> inputs,
                          llvm::MutableArrayRef<mlir::Value> outputs);
  void convertLibraryCall(train::FusedOp op,
                          llvm::SmallVector<mlir::Value> outputs);
  mlir::Value makeResult(train::FusedOp op, mlir::OpResult result);
  mlir::Value placeResult(train::FusedOp op, mlir::OpResult result);
  bool fillOffloaded(mlir::Value tensor, mlir::FlatSymbolRefAttr state,
                     mlir::Value place);
  void copyNewValues();
  void convertOutputs();
  void eraseUnused();
  std::string labelOf(train::FusedOp op) const;
  mlir::Value getReturned(unsigned result);

  mlir::func::FuncOp source;
  KernelTable &kernels;
  BufferPlan plan;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers; // of tensors
  llvm::MapVector<mlir::Attribute, mlir::Value> states;
  llvm::DenseMap<unsigned, mlir::Value> saved; // by result number
  llvm::SmallVector<train::FusedOp> underWay;  // async collectives
};

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_PROGRAMCONVERTER_H
