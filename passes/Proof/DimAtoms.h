//===- DimAtoms.h - dims as products that change together -------*- C++ -*-===//
#ifndef ZC_PASSES_PROOF_DIMATOMS_H
#define ZC_PASSES_PROOF_DIMATOMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace zc {

/// Sizes of a program's dims, written as products of atoms, slowest first: 768
/// features of 12 heads are the atoms 12 and 64. Dims that must have one size
/// share their atoms, so that a new size of an atom is one of all dims.
///
/// An atom that is found to be a product is split; dims of it then have the two
/// factors. Dims that cannot be brought to one product keep their size.
class DimAtoms {
public:
  using Product = llvm::SmallVector<int, 4>;

  /// A new atom; one of size 1 keeps its size.
  int make(int64_t size);

  /// `atom` in terms of what nobody has split.
  Product leavesOf(int atom);

  /// The products have one value in any case: their atoms are joined.
  void unify(llvm::ArrayRef<int> a, llvm::ArrayRef<int> b);

  /// The size of all that `atom` consists of stays.
  void keep(int atom);
  bool isKept(int atom);

  /// Whether a leaf is kept or set.
  bool isFixed(int leaf);

  /// The new size of a leaf.
  void set(int leaf, int64_t size);

  /// Every leaf that is neither kept nor set, by `choose` from itself and its
  /// size.
  void resize(llvm::function_ref<int64_t(int, int64_t)> choose);

  int64_t sizeOf(int atom);
  int64_t oldSizeOf(int atom);

private:
  struct Atom {
    int64_t size, newSize;
    int joined;               // with this one; itself: the one that speaks
    int slow = -1, fast = -1; // its factors
    bool kept;
    bool isSet = false;
  };

  int find(int atom);
  void join(int a, int b);
  void split(int atom, int64_t slow);
  Product leavesOf(llvm::ArrayRef<int> product);

  llvm::SmallVector<Atom, 0> atoms;
};

} // namespace zc

#endif // ZC_PASSES_PROOF_DIMATOMS_H
