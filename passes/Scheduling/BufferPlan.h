//===- BufferPlan.h - which values share memory -----------------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_BUFFERPLAN_H
#define ZC_PASSES_SCHEDULING_BUFFERPLAN_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Scheduling/AsyncSpans.h"
#include "llvm/ADT/DenseMap.h"

namespace zc {

/// The memory of a fused op's result.
struct Home {
  enum Kind { Fresh, InState, InOperand } kind = Fresh;
  mlir::FlatSymbolRefAttr state; // InState: the state whose new value it is
  /// Operands of the op that are this very memory.
  llvm::SmallVector<unsigned, 1> operands;
};

/// Decides, for a program in its final order, which values share memory.
///
/// The new value of a state goes straight to the state's buffer if every reader
/// of the old value comes before, or is the writer and allows it; so do the
/// sums that it is made of, where each adds to the one before in place. Any
/// other result takes the transient memory of an operand that nobody reads
/// later. An async collective reads until it has been waited for.
class BufferPlan {
public:
  explicit BufferPlan(mlir::func::FuncOp program);

  const Home &getHome(mlir::Value result) const { return homes.at(result); }

  const AsyncSpans &getAsyncSpans() const { return spans; }

  /// Returned values that must be copied to the state at the end, as indices.
  llvm::ArrayRef<unsigned> getFinalCopies() const { return finalCopies; }

  /// Returned values that are the old value of a state which gets a new one:
  /// they must be copied before anything runs.
  llvm::ArrayRef<unsigned> getSavedValues() const { return savedValues; }

  /// Whether the program gives `state` a new value.
  bool isUpdated(mlir::FlatSymbolRefAttr state) const {
    return updated.contains(state);
  }

private:
  void numberUses();
  void placeReturnedValues();
  void placeSumsBefore(mlir::OpResult last, mlir::FlatSymbolRefAttr state);
  mlir::OpResult findOverwritten(mlir::OpResult result) const;
  bool canWriteInState(mlir::OpResult result, mlir::FlatSymbolRefAttr state,
                       llvm::SmallVectorImpl<unsigned> &operands) const;
  void placeResults(train::FusedOp op);
  llvm::SmallVector<unsigned> findFree(train::FusedOp op, int64_t operand,
                                       int64_t result) const;
  bool isFreeAfter(mlir::Value root, train::FusedOp op) const;
  bool isSent(mlir::Value root, train::FusedOp op) const;

  mlir::func::FuncOp program;
  AsyncSpans spans;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<train::FusedOp>> senders;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<mlir::Value, unsigned> lastUses; // by root; fused ops only
  llvm::DenseSet<mlir::Value> returned;           // roots
  llvm::DenseMap<mlir::Attribute, mlir::Value> oldValues; // by state
  llvm::DenseSet<mlir::Attribute> updated;
  llvm::DenseMap<mlir::Value, Home> homes;
  llvm::SmallVector<unsigned> finalCopies, savedValues;
};

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_BUFFERPLAN_H
