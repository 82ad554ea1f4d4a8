//===- MaskNumbers.h - the numbers that a mask adds to scores ---*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_MASKNUMBERS_H
#define ZC_PASSES_SEQUENCE_MASKNUMBERS_H

#include "dialects/Train/Ops/AttentionSupport.h"

#include <optional>

namespace zc {

/// Scores are lost in numbers up to this. A kernel asks for less: that the sum
/// of a number and a score is below kAllHidden. No score reaches from here to
/// there, so that all blocks of a query's keys are told alike.
constexpr double kFar = 2 * train::kAllHidden;

/// The numbers that elements of a mask can be, before they are rounded to 16
/// bits.
struct MaskNumbers {
  /// Each one, ascending; few.
  llvm::SmallVector<double> single;
  /// Whether there are others, which all are near 0.
  bool hasOthers = false;

  /// The one number by which the mask hides keys, so far below all scores that
  /// these are lost in it, or minus infinity; 0: it hides none. Nothing where
  /// there are several, or scores are not lost.
  std::optional<double> findHidden() const;

  /// Whether scores are lost in all numbers that are not near 0.
  bool isFar() const;
};

/// The numbers of a mask which chooses among constants, or adds such up;
/// nothing of others.
std::optional<MaskNumbers> findMaskNumbers(mlir::Value mask);

/// Whether blocks of keys add up to all of them under the mask of an attention,
/// or of its gradient: of a query that sees no key, those hidden by the largest
/// number count alike.
bool hidesAlike(mlir::Operation *attention);

/// Whether the mask of an attention is known to hide keys only by numbers in
/// which scores are lost, or by none.
bool isFar(mlir::Operation *attention);

/// Whether a ring levels each block of an attention by itself: a causal one
/// with a mask of keys that may hide by numbers beside which sums are rounded
/// (LevelMasks.cpp).
bool isLevelledByBlock(mlir::Operation *attention);

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_MASKNUMBERS_H
