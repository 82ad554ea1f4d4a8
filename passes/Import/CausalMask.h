//===- CausalMask.h - recognizes causal masks -------------------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_CAUSALMASK_H
#define ZC_PASSES_IMPORT_CAUSALMASK_H

#include "dialects/Train/TrainDialect.h"

#include <optional>

namespace zc {

/// Masked scores are so small that their exponential is 0 next to any other.
inline constexpr double kHidden = -1e9;

/// The number that a floating-point constant is everywhere.
std::optional<double> splatNumber(mlir::Value value);

/// Whether `value` is a number throughout that hides scores.
bool hides(mlir::Value value);

/// A value before it was broadcast, and the dims that its own became.
struct Spread {
  explicit Spread(mlir::Value value);

  bool operator==(const Spread &other) const {
    return value == other.value && dims == other.dims;
  }

  mlir::Value value;
  llvm::SmallVector<int64_t> dims;
};

/// The meaning of a mask: it hides the scores after the diagonal (Causal), or
/// it is of i1 and true where they are hidden, or where they are seen.
enum class MaskKind { Causal, CausalHidden, CausalSeen, Other };

/// Reads masks, large constants once.
class CausalMasks {
public:
  /// Classifies a [.., queries, keys] mask that is the same in all heads and is
  /// a constant or compares positions.
  MaskKind classify(mlir::Value value);

private:
  MaskKind classifyComputed(mlir::Value value);
  static std::optional<int64_t> countedDim(mlir::Value value);

  llvm::DenseMap<mlir::Attribute, MaskKind> masks;
};

} // namespace zc

#endif // ZC_PASSES_IMPORT_CAUSALMASK_H
