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
/// parts once these are known. A whole that is a product, or that consists of
/// its parts in two ways, keeps its size, and so do its parts.
class Sums {
public:
  Sums(DimAtoms &atoms, const std::vector<Sum> &sums);

  /// In the program's order: parts may be wholes themselves.
  void addUp();

private:
  DimAtoms &atoms;
  std::vector<const Sum *> held;
};

} // namespace zc

#endif // ZC_PASSES_PROOF_SUMS_H
