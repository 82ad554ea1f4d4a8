//===- RegionGrouping.h - which ops become one kernel -----------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_REGIONGROUPING_H
#define ZC_PASSES_FUSION_REGIONGROUPING_H

#include "passes/Analysis/ProgramParts.h"
#include "passes/Fusion/Precedence.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace zc {

/// On an elementwise op whose users are elementwise: each region of these
/// computes it itself.
inline constexpr llvm::StringLiteral kRepeatedAttr = "train.repeated";

/// Whether `op` is no transpose, or one that keeps the innermost dim: it reads
/// whole rows, which is cheap in a loop.
bool keepsRows(mlir::Operation *op);

/// Ops of a program that one kernel computes, in program order.
struct RegionGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  /// Elementwise ops, perhaps with a reduction of what they compute; otherwise
  /// a single op.
  bool isLoopNest = false;
};

/// Partitions the ops of a program's block. Reshapes, regions that there are
/// already and the terminator are in no group. Ops that cost nothing to repeat
/// (splat constants, broadcasts, and what --zc-repeat-cheap-ops has chosen) are
/// in a group only where a value of theirs must exist in memory; for other
/// users `isRepeated` says that the user's region computes them itself.
class RegionGrouping {
public:
  explicit RegionGrouping(mlir::Block &block);

  const llvm::SmallVector<RegionGroup> &getGroups() const { return groups; }

  /// Whether the region of `user` computes its operand `op` itself.
  static bool isRepeated(mlir::Operation *op, mlir::Operation *user);

  /// Whether `op` widens floats of 16 bits, and each of its readers does so
  /// itself: it reads nothing for anybody else.
  static bool isRepeatedWidening(mlir::Operation *op);

private:
  void place(mlir::Operation *op);
  int findGroupToJoin(mlir::Operation *op);
  llvm::SmallVector<std::pair<int, bool>>
  findReadingGroups(mlir::Operation *op);
  bool wouldCycle(mlir::Operation *op, int group);
  void addToGroup(mlir::Operation *op, int group);

  mlir::Block &block;
  llvm::SmallVector<RegionGroup> groups;
  llvm::DenseMap<mlir::Operation *, int> groupOf;
  llvm::DenseMap<mlir::Operation *, int> order;
  Precedence precedence; // of the groups: who reads whom
  /// Set for a role in a pipeline, whose parts become separate programs: a
  /// kernel computes values of one part only.
  std::optional<ProgramParts> parts;
};

} // namespace zc

#endif // ZC_PASSES_FUSION_REGIONGROUPING_H
