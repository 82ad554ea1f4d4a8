//===- ProgramAtoms.h - the atoms of a program's dims -----------*- C++ -*-===//
#ifndef ZC_PASSES_PROOF_PROGRAMATOMS_H
#define ZC_PASSES_PROOF_PROGRAMATOMS_H

#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/WindowSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Proof/DimAtoms.h"
#include "passes/Proof/Slides.h"
#include "passes/Proof/Sums.h"
#include "llvm/ADT/DenseMap.h"

namespace zc {

/// Finds dims of a program that have one size, by the ops' sharding rules and
/// by reshapes, slices and concatenations.
class ProgramAtoms {
public:
  explicit ProgramAtoms(mlir::func::FuncOp program);

  DimAtoms &getAtoms() { return atoms; }

  /// The windows of convolutions and poolings, in the program's order.
  const std::vector<Slide> &getSlides() const { return slides; }

  /// The dims that concatenations make, in the program's order.
  const std::vector<Sum> &getSums() const { return sums; }

  /// The atom of a dim of an argument or a result.
  int atomOf(mlir::Value value, int64_t dim);

  /// The type of a value in the new sizes.
  mlir::RankedTensorType newTypeOf(mlir::Value value);

  /// The elements along a dim that stay, first to last: of each atom the first.
  llvm::SmallVector<int64_t> placesLeft(mlir::Value value, int64_t dim);

private:
  void visit(mlir::Operation *op);
  void visitRule(mlir::Operation *op);
  void visitWhole(mlir::Operation *op, mlir::Value value, int64_t dim);
  void visitSlice(train::SliceOp op);
  void visitWindow(mlir::Operation *op, const train::Window &window);
  void visitConcat(train::ConcatOp op);
  void visitParts(mlir::Value whole, mlir::ValueRange parts, int64_t dim);
  void tieEqualSizes(mlir::Operation *op);
  void tieNormDims(mlir::Operation *op);
  void keepTable(train::GatherOp op);
  void keepExperts(train::GroupedMatmulOp op);
  void tieBlock(mlir::Value whole, mlir::Value part, int64_t dim);
  DimAtoms::Product productOf(mlir::Value value);

  DimAtoms atoms;
  std::vector<Slide> slides;
  std::vector<Sum> sums;
  llvm::DenseMap<mlir::Value, DimAtoms::Product> dims;
};

/// The input whose numbers are a gather's indices, and which says their range;
/// null where the program computes them.
mlir::BlockArgument findIndexInput(train::GatherOp op);

} // namespace zc

#endif // ZC_PASSES_PROOF_PROGRAMATOMS_H
