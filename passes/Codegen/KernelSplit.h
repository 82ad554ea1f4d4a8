//===- KernelSplit.h - a kernel's work in equal blocks ----------*- C++ -*-===//
//
// A kernel is split over threads by the rules by which tensors are split over
// ranks: dims that every op of the kernel treats as one parallel factor may be
// cut into blocks, and every block computes its part of every output alone.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_CODEGEN_KERNELSPLIT_H
#define ZC_PASSES_CODEGEN_KERNELSPLIT_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace zc {

/// One loop of the grid: a dim of size blocks * block.
struct SplitLoop {
  int64_t blocks;
  int64_t block;
};

/// How the values of a kernel's body are cut.
struct KernelSplit {
  /// Outermost first; the grid is the product of their `blocks`.
  llvm::SmallVector<SplitLoop> loops;
  /// For every value of the body, per dim the loop that cuts it, or -1.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> dims;

  int64_t grid() const;
  /// The shape of the part of `value` that one block works on.
  llvm::SmallVector<int64_t> localShape(mlir::Value value) const;
};

/// Whether a single dim of `size` elements can be cut into blocks that are
/// neither tiny nor much too large.
bool splitsWell(int64_t size);

/// Chooses the split of a body of train ops whose terminator yields the
/// outputs. A block has about 16 Ki elements, and rows long enough to be
/// vectors.
KernelSplit chooseSplit(mlir::Block &body);

/// The size of the blocks that a dim of `size` elements is cut into, a divisor;
/// `innermost`: it is the last dim of some value that counts.
using BlockChooser = llvm::function_ref<int64_t(int64_t size, bool innermost)>;

/// The size of the blocks that a dim of `size` elements is cut into, a divisor;
/// `innermost`: it is the last dim of some value that counts.
using BlockChooser = llvm::function_ref<int64_t(int64_t size, bool innermost)>;

/// The same with blocks of neighbouring rows, which are never cut: as many of
/// about `elements` in all.
KernelSplit chooseRowSplit(mlir::Block &body, int64_t elements);

/// The values whose last dims count: any value, or large ones alone. A number
/// for each row of another value is few bytes beside these rows.
enum class Innermost { OfAny, OfLarge };

/// The same with blocks as `blockOf` says.
KernelSplit chooseSplit(mlir::Block &body, BlockChooser blockOf,
                        Innermost which = Innermost::OfAny);

/// The largest divisor of `size` that is at most `atMost`.
int64_t largestDivisor(int64_t size, int64_t atMost);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_KERNELSPLIT_H
