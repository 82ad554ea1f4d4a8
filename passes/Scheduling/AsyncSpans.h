//===- AsyncSpans.h - when async collectives have ended ---------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_ASYNCSPANS_H
#define ZC_PASSES_SCHEDULING_ASYNCSPANS_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace zc {

/// For a program in its final order: where collectives that run beside other
/// ops (`async`) are waited for. They run one after another, so that
/// waiting for one is waiting for all before it.
class AsyncSpans {
public:
  explicit AsyncSpans(mlir::func::FuncOp program);

  /// The collective that `op` must wait for; null if none.
  train::FusedOp getAwaited(train::FusedOp op) const {
    return awaited.lookup(op);
  }

  /// The number, among the program's fused ops, of the op that waits for the
  /// async `collective`; the number of fused ops if none does.
  unsigned getEnd(train::FusedOp collective) const {
    return ends.at(collective);
  }

private:
  llvm::DenseMap<mlir::Operation *, train::FusedOp> awaited;
  llvm::DenseMap<mlir::Operation *, unsigned> ends;
};

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_ASYNCSPANS_H
