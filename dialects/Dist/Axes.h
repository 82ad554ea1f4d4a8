//===- Axes.h - the axes that a mesh may have -------------------*- C++ -*-===//
//
// Their names as `--mesh` has them. The runtime, which knows no dialect, has
// them in runtime/Plan/Axes.h; the compiler compares the two.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_DIST_AXES_H
#define ZC_DIALECTS_DIST_AXES_H

#include "dialects/Train/Tokens.h"

namespace zc::dist {

/// Divides stages of a pipeline among roles.
inline constexpr llvm::StringLiteral kRoleAxis = "pp";
/// Divides samples.
inline constexpr llvm::StringLiteral kSampleAxis = "dp";
/// The two that `dp` is where groups of its ranks divide ZeRO's units.
inline constexpr llvm::StringLiteral kOuterSampleAxis = "dp_outer";
inline constexpr llvm::StringLiteral kInnerSampleAxis = "dp_inner";
/// Divides experts, and samples.
inline constexpr llvm::StringLiteral kExpertAxis = "ep";
/// Divides tokens.
using zc::kTokenAxis;
/// Divides tensors.
inline constexpr llvm::StringLiteral kTensorAxis = "tp";

/// The axes that divide samples.
inline constexpr llvm::StringLiteral kSampleAxes[] = {
    kSampleAxis, kOuterSampleAxis, kInnerSampleAxis, kExpertAxis};

} // namespace zc::dist

#endif // ZC_DIALECTS_DIST_AXES_H
