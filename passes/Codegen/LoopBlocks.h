//===- LoopBlocks.h - loops of a kernel lowered to blocks -------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_LOOPBLOCKS_H
#define ZC_PASSES_CODEGEN_LOOPBLOCKS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace zc {

/// The loops of a function of the LLVM dialect whose blocks stand in the order
/// of the loops that they came from: a loop is all blocks from the target of a
/// branch backwards to that branch.
class LoopBlocks {
public:
  explicit LoopBlocks(mlir::LLVM::LLVMFuncOp function);

  /// Whether integer arithmetic makes `value` of the induction variable of a
  /// loop that holds no other.
  bool variesInnermost(mlir::Value value) const {
    return varying.contains(value);
  }

  /// Whether a loop hands on numbers that are no indices, or writes to one
  /// place again and again: sums, which LLVM may put in another order.
  bool addsUpInRegisters() const { return addsUp; }

private:
  /// Numbers of the blocks, both included.
  struct Loop {
    unsigned header, latch;
  };

  void findLoops();
  bool isInnermost(const Loop &loop) const;
  void findVarying();
  void findSums();

  llvm::SmallVector<mlir::Block *> blocks;
  llvm::SmallVector<Loop> loops, innermost;
  llvm::DenseSet<mlir::Value> varying;
  bool addsUp = false;
};

} // namespace zc

#endif // ZC_PASSES_CODEGEN_LOOPBLOCKS_H
