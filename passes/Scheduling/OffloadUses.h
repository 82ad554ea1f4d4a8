//===- OffloadUses.h - when offloaded values are needed ---------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_OFFLOADUSES_H
#define ZC_PASSES_SCHEDULING_OFFLOADUSES_H

#include "dialects/Sched/SchedDialect.h"
#include "passes/Target/Target.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <vector>

namespace zc {

/// An op that names a buffer of an offloaded root. Times are numbers of
/// instructions of the main stream: an op of time t begins in front of number
/// t.
struct OffloadUse {
  mlir::Operation *op;
  unsigned begin;
  /// Where it has ended: behind the op, or where an async one is waited for.
  unsigned end;
  mlir::Operation *endOp; // what it has ended behind; null: the program's end
};

/// Uses that stand close together, between which the value stays in the
/// transient region.
struct OffloadSpan {
  llvm::SmallVector<OffloadUse> uses;
  mlir::Value held; // what the root holds in front of them; null: nothing
  mlir::Value left; // what it holds behind them
  bool reads = false, writes = false; // `held`; anything

  unsigned begin() const { return uses.front().begin; }
  /// The use that ends last.
  const OffloadUse &last() const;
};

/// Lists how a program uses its offloaded roots.
class OffloadUses {
public:
  explicit OffloadUses(sched::ProgramOp program);

  /// Roots in the order of their definitions, their spans in that of time.
  llvm::ArrayRef<std::pair<mlir::Value, std::vector<OffloadSpan>>>
  getSpans() const {
    return spans.getArrayRef();
  }

  /// Instructions of the main stream, and the seconds that each takes by the
  /// cost model.
  llvm::ArrayRef<mlir::Operation *> getMain() const { return main; }
  llvm::ArrayRef<double> getSeconds() const { return seconds; }

  /// The states that the program wants sooner after its begin than they could
  /// be there; of those that it writes, sooner than they could be away behind
  /// its end and back in front of the next one's first use. None where the
  /// second memory is a file: who asks for that wants the room, whatever it
  /// takes.
  llvm::SmallVector<mlir::Value> findBusyStates() const;

private:
  void findRoots(sched::ProgramOp program);
  void findEnds(sched::ProgramOp program);
  void countSeconds();
  double secondsBetween(unsigned from, unsigned to) const;
  double copySeconds(mlir::Value root) const;
  bool isNear(mlir::Value root, const OffloadSpan &span,
              const OffloadUse &use) const;
  void addUses(mlir::Operation &op);
  void add(mlir::Value root, const OffloadUse &use);
  void note(OffloadSpan &span, mlir::Operation *op, mlir::Value root);
  mlir::Value resolve(mlir::Value buffer) const;

  llvm::MapVector<mlir::Value, std::vector<OffloadSpan>> spans;
  llvm::DenseMap<mlir::Value, mlir::Value> current; // by root
  llvm::DenseSet<mlir::Value> written;
  llvm::SmallVector<mlir::Operation *> main;
  llvm::SmallVector<double> seconds; // of `main`
  llvm::SmallVector<double> elapsed; // in front of each, and at the end
  const Target &target;
  /// The op that waits for an async instruction, and its number.
  llvm::DenseMap<mlir::Operation *, std::pair<unsigned, mlir::Operation *>>
      ends;
  unsigned now = 0;
};

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_OFFLOADUSES_H
