//===- DimAtoms.cpp - dims as products that change together ---------------===//
#include "passes/Proof/DimAtoms.h"

#include "llvm/ADT/STLExtras.h"

namespace zc {

int DimAtoms::make(int64_t size) {
  const int number = static_cast<int>(atoms.size());
  atoms.push_back({size, size, number, -1, -1, size <= 1});
  return number;
}

int DimAtoms::find(int atom) {
  while (atoms[atom].joined != atom)
    atom = atoms[atom].joined = atoms[atoms[atom].joined].joined;
  return atom;
}

DimAtoms::Product DimAtoms::leavesOf(int atom) {
  atom = find(atom);
  if (atoms[atom].slow < 0)
    return atoms[atom].size == 1 ? Product() : Product{atom};
  Product leaves = leavesOf(atoms[atom].slow);
  llvm::append_range(leaves, leavesOf(atoms[atom].fast));
  return leaves;
}

DimAtoms::Product DimAtoms::leavesOf(llvm::ArrayRef<int> product) {
  Product leaves;
  for (int atom : product)
    llvm::append_range(leaves, leavesOf(atom));
  return leaves;
}

/// Makes one of two leaves of equal size.
void DimAtoms::join(int a, int b) {
  a = find(a);
  b = find(b);
  atoms[a].kept |= atoms[b].kept;
  atoms[b].joined = a;
}

void DimAtoms::split(int atom, int64_t slow) {
  const int first = make(slow), second = make(atoms[atom].size / slow);
  atoms[first].kept |= atoms[atom].kept;
  atoms[second].kept |= atoms[atom].kept;
  atoms[atom].slow = first;
  atoms[atom].fast = second;
}

void DimAtoms::unify(llvm::ArrayRef<int> a, llvm::ArrayRef<int> b) {
  for (size_t i = 0;;) {
    Product left = leavesOf(a), right = leavesOf(b);
    if (i == left.size() && i == right.size())
      return;
    const int64_t l = i < left.size() ? atoms[left[i]].size : 1;
    const int64_t r = i < right.size() ? atoms[right[i]].size : 1;
    if (l == r) {
      join(left[i], right[i]);
      ++i;
    } else if (l > 1 && r > 1 && l % r == 0) {
      split(left[i], r);
    } else if (l > 1 && r > 1 && r % l == 0) {
      split(right[i], l);
    } else { // 6 x 4 against 4 x 6
      for (int atom : a)
        keep(atom);
      for (int atom : b)
        keep(atom);
      return;
    }
  }
}

void DimAtoms::keep(int atom) {
  for (int leaf : leavesOf(atom))
    atoms[leaf].kept = true;
}

bool DimAtoms::isKept(int atom) {
  return llvm::all_of(leavesOf(atom),
                      [&](int leaf) { return atoms[leaf].kept; });
}

bool DimAtoms::isFixed(int leaf) {
  const Atom &atom = atoms[find(leaf)];
  return atom.kept || atom.isSet;
}

void DimAtoms::set(int leaf, int64_t size) {
  Atom &atom = atoms[find(leaf)];
  atom.newSize = size;
  atom.isSet = true;
}

void DimAtoms::resize(llvm::function_ref<int64_t(int, int64_t)> choose) {
  for (int atom = 0; atom < static_cast<int>(atoms.size()); ++atom)
    if (find(atom) == atom && atoms[atom].slow < 0 && !atoms[atom].kept &&
        !atoms[atom].isSet)
      atoms[atom].newSize = choose(atom, atoms[atom].size);
}

int64_t DimAtoms::sizeOf(int atom) {
  int64_t size = 1;
  for (int leaf : leavesOf(atom))
    size *= atoms[leaf].newSize;
  return size;
}

int64_t DimAtoms::oldSizeOf(int atom) { return atoms[find(atom)].size; }

} // namespace zc
