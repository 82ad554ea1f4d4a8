//===- Sums.cpp - dims that consist of others -----------------------------===//
#include "passes/Proof/Sums.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace zc {

Sums::Sums(DimAtoms &atoms, const std::vector<Sum> &sums,
           llvm::ArrayRef<int> slidOver)
    : atoms(atoms) {
  std::map<int, int> timesWhole; // of leaves
  for (const Sum &sum : sums)
    for (int leaf : atoms.leavesOf(sum.whole))
      ++timesWhole[leaf];
  DimAtoms::Product slid;
  for (int atom : slidOver)
    llvm::append_range(slid, atoms.leavesOf(atom));
  // Parts may be wholes themselves: where one is kept because of what is made
  // of it, so are its parts.
  for (const Sum &sum : llvm::reverse(sums)) {
    const DimAtoms::Product leaves = atoms.leavesOf(sum.whole);
    if (leaves.size() == 1 && timesWhole[leaves.front()] == 1 &&
        !atoms.isKept(sum.whole) && !llvm::is_contained(slid, leaves.front())) {
      atoms.set(leaves.front(), atoms.oldSizeOf(leaves.front()));
      held.push_back(&sum);
      continue;
    }
    atoms.keep(sum.whole);
    for (int part : sum.parts)
      atoms.keep(part);
  }
  std::reverse(held.begin(), held.end());
}

void Sums::addUp() {
  for (const Sum *sum : held) {
    int64_t size = 0;
    for (int part : sum->parts)
      size += atoms.sizeOf(part);
    atoms.set(atoms.leavesOf(sum->whole).front(), size);
  }
}

} // namespace zc
