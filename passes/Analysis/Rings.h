//===- Rings.h - where micro-batches under way keep what they need -*- C++
//-*-===//
//
// Names of rings, which say what lies there: values that a role receives or
// sends and nothing else of it needs (in, out), received values that later
// programs read again (kept), and all others (stash). All that lies in one ring
// is read and written by the same programs; where they are not the usual ones,
// a suffix says which: "stash.fbw" is of the forward, backward and weights.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_ANALYSIS_RINGS_H
#define ZC_PASSES_ANALYSIS_RINGS_H

#include "llvm/ADT/StringRef.h"

namespace zc {

inline constexpr llvm::StringLiteral kStash = "stash";
inline constexpr llvm::StringLiteral kActivationsIn = "activations.in";
inline constexpr llvm::StringLiteral kActivationsKept = "activations.kept";
inline constexpr llvm::StringLiteral kActivationsOut = "activations.out";
inline constexpr llvm::StringLiteral kGradientsIn = "gradients.in";
inline constexpr llvm::StringLiteral kGradientsKept = "gradients.kept";
inline constexpr llvm::StringLiteral kGradientsOut = "gradients.out";
inline constexpr llvm::StringLiteral kGradientStash = "gradients.stash";
inline constexpr llvm::StringLiteral kEvalIn = "eval.in";
inline constexpr llvm::StringLiteral kEvalKept = "eval.kept";
inline constexpr llvm::StringLiteral kEvalOut = "eval.out";
inline constexpr llvm::StringLiteral kEvalStash = "eval.stash";

/// In front of a ring's name: it lies in the second memory.
inline constexpr llvm::StringLiteral kOffloadedRing = "offloaded.";

inline bool isOffloadedRing(llvm::StringRef ring) {
  return ring.starts_with(kOffloadedRing);
}

/// Whether messages of an evaluation lie there, or what it keeps.
inline bool isEvalRing(llvm::StringRef ring) {
  return ring.starts_with("eval.");
}

/// Whether what lies there is on its way between roles, and nothing else.
inline bool isTransitRing(llvm::StringRef ring) {
  for (llvm::StringRef kind : {kActivationsIn, kActivationsOut, kGradientsIn,
                               kGradientsOut, kEvalIn, kEvalOut})
    if (ring == kind || ring.starts_with((kind + ".").str()))
      return true;
  return false;
}

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_RINGS_H
