//===- TeamBody.h - a linalg op's body, run by threads ----------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_TEAMBODY_H
#define ZC_PASSES_CODEGEN_CUDA_TEAMBODY_H

#include "mlir/IR/IRMapping.h"
#include "passes/Codegen/Cuda/TeamLoops.h"

namespace zc::cuda {

/// One op of the body that folds a term into an accumulator.
struct Accumulator {
  unsigned output; // index among the outputs
  mlir::Operation *combiner;
};

/// Builds runs of an op's body, in place of the op: at places, which its
/// parallel loops count, and at terms, which its reduction loops count.
class TeamBody {
protected:
  /// An index for each loop; null: 0.
  using Indices = llvm::SmallVector<mlir::Value>;

  TeamBody(mlir::linalg::LinalgOp op, const Team &team);

  mlir::Value index(int64_t value);

  mlir::Block &body();

  mlir::Value yielded(unsigned output);

  mlir::BlockArgument elementOf(unsigned output);

  mlir::AffineMap outputMap(unsigned output);

  mlir::Value outputBuffer(unsigned output);

  /// Splits `linear` into indices of `loops`, the last of which runs fastest.
  void delinearize(mlir::Value linear, llvm::ArrayRef<int64_t> loops,
                   llvm::MutableArrayRef<mlir::Value> indices);

  mlir::Value apply(mlir::AffineMap map, llvm::ArrayRef<mlir::Value> indices);

  llvm::SmallVector<mlir::Value> at(mlir::AffineMap map,
                                    llvm::ArrayRef<mlir::Value> indices);

  /// Within a half of a row, neighbours are neighbours there, too: the place of
  /// the first of them, and how far behind it this one is. LLVM sees that of a
  /// sum, not of a remainder. Null where it is not so.
  mlir::Value applyToFirst(mlir::AffineMap map,
                           llvm::ArrayRef<mlir::Value> indices);

  /// Whether `place`, of this loop alone, is `behind` more wherever the loop is
  /// that much further than at the first of some neighbours.
  bool stepsByOne(mlir::AffineExpr place, unsigned loop, int64_t behind);

  mlir::Value load(mlir::Value buffer, mlir::AffineMap map,
                   llvm::ArrayRef<mlir::Value> indices);

  void store(mlir::Value value, unsigned output,
             llvm::ArrayRef<mlir::Value> indices);

  bool isAccumulated(unsigned output);

  /// Runs of the body at places (or terms) that follow one another. `folded`
  /// holds the accumulators' values, of one place or of each in turn, and gets
  /// their new ones; other outputs are stored. All is loaded before anything is
  /// stored, so that neighbours' accesses become one.
  void runBody(llvm::ArrayRef<Indices> runs,
               llvm::MutableArrayRef<mlir::Value> folded);

  void loadElements(const Indices &indices, mlir::IRMapping &mapping);

  void cloneBody(const Indices &indices, mlir::IRMapping &mapping);

  static bool isSixteenBits(mlir::Type type);

  /// Whether something that is read lies along `loop` in memory.
  bool isReadAlong(int64_t loop);

  /// How many neighbouring places of a sum a thread takes at once: those that
  /// lie side by side where a place's terms do not.
  int64_t countPlacesBeside(int64_t total);

  /// How many neighbours along the last of `loops` a thread takes at once: 16
  /// bytes of what lies along it in memory, fewer where half of the team would
  /// have nothing left to do.
  int64_t countNeighbours(llvm::ArrayRef<int64_t> loops, int64_t total,
                          int64_t threads);

  /// The places (or terms) from `first` on, which are one row's.
  llvm::SmallVector<Indices> neighbours(mlir::Value first,
                                        llvm::ArrayRef<int64_t> loops,
                                        const Indices &around, int64_t count);

  mlir::Value times(mlir::Value value, int64_t factor);

  mlir::linalg::LinalgOp op;
  const Team &team;
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<int64_t> placeLoops, termLoops, sizes;
  int64_t places = 1, terms = 1;
  llvm::SmallVector<Accumulator> accumulators; // none: outputs are stored
};

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_TEAMBODY_H
