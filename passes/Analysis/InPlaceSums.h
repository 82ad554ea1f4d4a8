//===- InPlaceSums.h - sums that are made in place, later -----------------===//
#ifndef ZC_PASSES_ANALYSIS_INPLACESUMS_H
#define ZC_PASSES_ANALYSIS_INPLACESUMS_H

#include "llvm/ADT/StringRef.h"

namespace zc {

/// On a train.add: its second operand may be added to the first in place, once
/// both are of one rank (--zc-accumulate-in-place). Unit.
inline constexpr llvm::StringLiteral kInPlaceAttr = "train.in_place";

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_INPLACESUMS_H
