//===- Slides.h - windows that slide over images ----------------*- C++ -*-===//
#ifndef ZC_PASSES_PROOF_SLIDES_H
#define ZC_PASSES_PROOF_SLIDES_H

#include "passes/Proof/DimAtoms.h"
#include "llvm/ADT/DenseSet.h"

#include <vector>

namespace zc {

/// A window of a convolution or a pooling along one dim: the atoms of the
/// image's dim and of the result's, which has an element per place.
struct Slide {
  int image, places;
  int64_t extent; // from the window's first element to its last, both counted
  int64_t stride;
  int64_t padding; // before and after

  /// The places of the window on an image of `size` elements.
  int64_t countPlaces(int64_t size) const;
};

/// The numbers that dims must be divided by as before: dims that count samples
/// (leaves of atoms) by those `ofSamples`, others by `ofAll`.
struct Divisors {
  llvm::SmallVector<int64_t> ofAll, ofSamples;
  llvm::DenseSet<int> samples;
};

/// Gives the images of a program the least sizes of which every window has at
/// least two places, where it had as many. `divisors` divide what the last
/// windows leave, and what counts samples, if they did before. Where there are
/// no such sizes, as where data depend on one, all stay. `slides`: in the
/// program's order.
void shrinkImages(DimAtoms &atoms, const std::vector<Slide> &slides,
                  const Divisors &divisors);

} // namespace zc

#endif // ZC_PASSES_PROOF_SLIDES_H
