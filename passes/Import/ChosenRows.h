//===- ChosenRows.h - a row for each choice of a token ----------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_CHOSENROWS_H
#define ZC_PASSES_IMPORT_CHOSENROWS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace zc {

/// Each token chose these experts, and each choice has a weight: integers and
/// floats [tokens..., k].
struct Choices {
  mlir::Value chosen, weights;
  bool mayBeNone = false; // a choice may be no expert, and then takes no room
};

/// The rows of all choices, [tokens k, width], token by token.
class ChosenRows {
public:
  /// A choice that is none of `experts` counts 0.
  ChosenRows(mlir::OpBuilder &builder, mlir::Location loc,
             const Choices &choices, int64_t experts);

  /// [tokens k, width], of the elements of `like`.
  mlir::RankedTensorType typeLike(mlir::Value like, int64_t width) const;

  /// Each token's row of `value`, whose dims but the last count tokens, once a
  /// choice.
  mlir::Value repeat(mlir::Value value);

  /// By each row's expert, whose matrix is in `weights` [experts, K, N], or
  /// with these dims swapped.
  mlir::Value multiply(mlir::Value rows, mlir::Value weights, bool transposed);

  /// Gathers for each row its expert's vector in `table` [experts, width].
  mlir::Value lookUp(mlir::Value table);

  /// The weighted sum over a token's choices, of the shape of `like`.
  mlir::Value sum(mlir::Value rows, mlir::Value like);

  /// Each of so many groups of tokens has room for `capacity` rows of an
  /// expert, which all first choices get before the second ones; set before any
  /// product is made.
  void limit(int64_t groups, int64_t capacity) { limits = {groups, capacity}; }

  int64_t countTokens() const { return tokens; }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t experts, chosen, tokens;
  mlir::Value groups, weights, ids;
  std::optional<std::pair<int64_t, int64_t>> limits; // groups, capacity
};

/// Replaces sums of one term for each expert, of all tokens times a mask of
/// those that chose it, by the chosen rows alone: products become
/// train.grouped_matmul of the experts' stacked matrices. Returns how many sums
/// were replaced; the others, and what is then unused, stay as they are.
int64_t replaceMaskedExperts(mlir::ModuleOp module);

/// The same of sums over a dim of experts, whose matrices are stacked, times
/// weights that are 0 where an expert was not chosen.
int64_t replaceStackedExperts(mlir::ModuleOp module);

/// The same of GShard's einsums, by masks [groups, tokens, experts, places]
/// that say which token has which place in the room of an expert. The products
/// have these limits as properties (room_groups, room_capacity).
int64_t replaceRoutedExperts(mlir::ModuleOp module);

} // namespace zc

#endif // ZC_PASSES_IMPORT_CHOSENROWS_H
