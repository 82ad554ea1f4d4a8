//===- StackedRows.h - of all experts at once, the chosen rows --*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_STACKEDROWS_H
#define ZC_PASSES_IMPORT_STACKEDROWS_H

#include "passes/Import/ChosenRows.h"

#include <functional>

namespace zc {

/// The thing that dims count. Tokens may have several adjacent dims: those of
/// groups and the tokens, or places, in each. Groups have dims of their own
/// where others stand between.
enum class Axis { Experts, Groups, Tokens, Features };

/// The dims of one axis. A layout lists the axes in the order of their dims.
struct AxisDims {
  Axis axis;
  int64_t begin, end;

  bool operator==(const AxisDims &other) const {
    return axis == other.axis && begin == other.begin && end == other.end;
  }
};
using Layout = llvm::SmallVector<AxisDims, 4>;

/// Computes for rows, one a choice, what is computed for all experts, whose
/// matrices are stacked.
class StackedRows {
public:
  /// The rows of a value at which the walk back from the sum ends; or null.
  using Leaf = std::function<mlir::Value(mlir::Value, const Layout &)>;

  StackedRows(mlir::OpBuilder &builder, mlir::Location loc,
              const Choices &choices, int64_t experts)
      : builder(builder), loc(loc), experts(experts),
        chosenRows(builder, loc, choices, experts) {}

  /// The tokens come in `count` groups; `made` gives the rows of leaves.
  void setLeaf(int64_t count, Leaf made) {
    groups = count;
    leaf = std::move(made);
  }

  ChosenRows &rows() { return chosenRows; }

  /// [rows, features], or null.
  mlir::Value build(mlir::Value value, const Layout &layout);

  mlir::Value sum(mlir::Value rows, mlir::Value like) {
    return chosenRows.sum(rows, like);
  }

private:
  Layout relate(mlir::Value from, const Layout &layout, mlir::Value to) const;
  Layout separateGroups(mlir::Value value, const Layout &layout) const;
  mlir::RankedTensorType rowsOf(mlir::Value value, const Layout &layout) const;
  mlir::Value buildOp(mlir::Operation *op, mlir::Value value,
                      const Layout &layout);
  mlir::Value buildView(mlir::Operation *op, const Layout &layout);
  mlir::Value buildTranspose(mlir::Operation *op, const Layout &layout);
  mlir::Value buildProduct(mlir::Operation *op, const Layout &layout);
  mlir::Value buildSpread(mlir::Operation *op, const Layout &layout);
  mlir::Value buildSlice(mlir::Operation *op, const Layout &layout);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t experts, groups = 1;
  ChosenRows chosenRows;
  Leaf leaf;
  llvm::DenseMap<mlir::Value, std::pair<Layout, mlir::Value>> made;
};

} // namespace zc

#endif // ZC_PASSES_IMPORT_STACKEDROWS_H
