//===- StepAnalysis.h - forward and backward of a program -------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_STEPANALYSIS_H
#define ZC_PASSES_MEMORY_STEPANALYSIS_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/Tensors.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace zc {

/// The program of a module that has a backward: @step or @micro; null if none.
mlir::func::FuncOp findStep(mlir::ModuleOp module);

/// The ops of a program of fused ops that run again if values are not kept.
/// Forward ops are those that the loss depends on, backward ops the others that
/// a parameter's gradient depends on. Values are the results of forward ops,
/// numbered in the order of the program; a clone of the program has the same
/// numbers.
class StepAnalysis {
public:
  explicit StepAnalysis(mlir::func::FuncOp program);

  mlir::func::FuncOp getProgram() const { return program; }
  llvm::ArrayRef<train::FusedOp> getForward() const { return forward; }
  llvm::ArrayRef<train::FusedOp> getBackward() const { return backward; }
  bool isForward(mlir::Operation *op) const { return inForward.contains(op); }

  unsigned numValues() const { return values.size(); }
  mlir::Value getValue(unsigned index) const { return values[index]; }
  /// The number of a result of a forward op.
  unsigned getIndex(mlir::Value value) const { return indices.at(value); }

  /// The values that a backward op reads.
  const llvm::BitVector &getSaved() const { return saved; }

  /// Where in getForward() the value's maker stands, and its last reader there;
  /// 0 if none reads it.
  unsigned getPlace(unsigned index) const {
    return places.at(values[index].getDefiningOp());
  }
  unsigned getLastReader(unsigned index) const { return lastReaders[index]; }

  /// The values made by the first `count` forward ops that later ones read.
  llvm::BitVector getCrossing(unsigned count) const;

  /// The backward's own gather of the parameters that `op` gathers; null for
  /// other ops, and where it has none.
  train::FusedOp findGatherAgain(mlir::Operation *op) const {
    return gathersAgain.lookup(op);
  }

  /// The results of those gathers, which need not be kept.
  const llvm::BitVector &getGatheredAgain() const { return gatheredAgain; }

  /// Adds to `kept` the results of ops that would run in place without the plan
  /// and could not with it (see fixSharedBuffers), and of those that would run
  /// again on tensors of other ranks (see kOfOtherRanksAttr).
  void settle(llvm::BitVector &kept) const;

  /// The forward ops, by their place in getForward(), that run again if only
  /// `kept` values are kept.
  llvm::BitVector getRecomputed(const llvm::BitVector &kept) const;

  /// The values among `kept` that the backward, or an op that is recomputed
  /// for it, reads.
  llvm::BitVector getReadAgain(const llvm::BitVector &kept) const;

private:
  void findForward();
  void findBackward();
  void findSaved();
  void findGathersAgain();
  void walkBackward(const llvm::BitVector &kept, llvm::BitVector &again,
                    llvm::BitVector &read) const;
  void keepResults(unsigned place, llvm::BitVector &kept) const;
  bool isPinned(train::FusedOp op, const llvm::BitVector &kept) const;

  mlir::func::FuncOp program;
  llvm::SmallVector<train::FusedOp> forward, backward;
  llvm::DenseSet<mlir::Operation *> inForward;
  llvm::DenseMap<mlir::Operation *, unsigned> places; // in `forward`
  llvm::SmallVector<mlir::Value> values;
  llvm::DenseMap<mlir::Value, unsigned> indices;
  llvm::SmallVector<unsigned> lastReaders; // per value: a place in `forward`
  llvm::BitVector saved, gatheredAgain;
  llvm::DenseMap<mlir::Operation *, train::FusedOp> gathersAgain;
};

/// An op that is no single loop nest may add in another order when it works in
/// place. So that its bits do not depend on what is recomputed, an op of the
/// forward may only do so over values that no other op reads.
void fixSharedBuffers(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_MEMORY_STEPANALYSIS_H
