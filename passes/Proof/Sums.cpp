//===- Sums.cpp - dims that consist of others -----------------------------===//
#include "passes/Proof/Sums.h"

#include <map>

namespace zc {

Sums::Sums(DimAtoms &atoms, const std::vector<Sum> &sums) : atoms(atoms) {
  std::map<int, int> timesWhole; // of leaves
  for (const Sum &sum : sums)
    for (int leaf : atoms.leavesOf(sum.whole))
      ++timesWhole[leaf];
  for (const Sum &sum : sums) {
    const DimAtoms::Product leaves = atoms.leavesOf(sum.whole);
    if (leaves.size() == 1 && timesWhole[leaves.front()] == 1 &&
        !atoms.isKept(sum.whole)) {
      atoms.set(leaves.front(), atoms.oldSizeOf(leaves.front()));
      held.push_back(&sum);
      continue;
    }
    atoms.keep(sum.whole);
    for (int part : sum.parts)
      atoms.keep(part);
  }
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
