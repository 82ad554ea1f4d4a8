//===- Routing.h - masks that give tokens their places ----------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_ROUTING_H
#define ZC_PASSES_IMPORT_ROUTING_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace zc {

/// The thing that a dim of a mask counts; None: a dim of size 1.
enum class MaskDim { Group, Token, Expert, Place, None };

/// A tensor whose dims are some of those of a mask, in order.
struct MaskPart {
  mlir::Value value;
  llvm::SmallVector<MaskDim> dims;

  bool has(MaskDim dim) const { return llvm::is_contained(dims, dim); }
};

/// One choice of each token: which expert it is of, [groups, tokens] integers,
/// the factors of what it weighs, of dims [groups, tokens] and [groups, tokens,
/// experts], and the conditions, [groups, tokens], without which it is not
/// made.
struct RoutedChoice {
  mlir::Value chosen;
  llvm::SmallVector<MaskPart, 2> weights, gates, conditions;
};

/// Masks [groups, tokens, experts, places] or, of one group, [tokens, experts,
/// places] which give each token a place in the room of the experts that it
/// chose: the next that is free, all first choices before the second ones. A
/// token that finds none has 0.
struct Routing {
  int64_t groups, tokens, experts, capacity;
  llvm::SmallVector<RoutedChoice, 2> choices;
};

/// Recognizes a mask, of weights or of ones; nothing where it is not known to
/// be one. Its factors identify it, however they are written: a one-hot number
/// of the expert, and a one-hot number of a place that is the count of the
/// tokens that came before.
std::optional<Routing> findRouting(mlir::Value mask);

/// Whether `mask` is 1 where `weights`, which is such a mask with the routing
/// `routing`, is not 0, and else 0.
bool isMaskOf(mlir::Value mask, mlir::Value weights, const Routing &routing);

} // namespace zc

#endif // ZC_PASSES_IMPORT_ROUTING_H
