//===- Sums.h - dims that consist of others ---------------------*- C++ -*-===//
#ifndef ZC_PASSES_PROOF_SUMS_H
#define ZC_PASSES_PROOF_SUMS_H

#include "passes/Proof/DimAtoms.h"

#include <vector>

namespace zc {

/// A dim that has others of several sizes one behind the other.
struct Sum {
  int whole;
  llvm::SmallVector<int> parts;
};

/// Holds wholes back from being resized, and gives them the sizes of their
/// parts once these are known. A whole that is a product, that consists of its
/// parts in two ways or over which windows slide keeps its size, and so do its
/// parts.
class Sums {
public:
  /// `sums`: in the program's order. `slidOver`: atoms of dims over which
  /// windows slide, or of their places.
  Sums(DimAtoms &atoms, const std::vector<Sum> &sums,
       llvm::ArrayRef<int> slidOver);

  /// Gives each whole that is held the size of its parts together.
  void addUp();

private:
  DimAtoms &atoms;
  std::vector<const Sum *> held; // in the program's order
};

} // namespace zc

#endif // ZC_PASSES_PROOF_SUMS_H
