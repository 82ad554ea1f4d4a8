//===- Libraries.h - which library calls may be used ------------*- C++ -*-===//
#ifndef ZC_PASSES_TARGET_LIBRARIES_H
#define ZC_PASSES_TARGET_LIBRARIES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

namespace zc {

/// A library call that a device has, by the name that `--libraries` knows.
struct LibraryName {
  llvm::StringRef name;
  /// Part of `all`; others compute something in another way than zc, and are
  /// used where they are named.
  bool byDefault = true;
};

/// The value of `--libraries`: `all`, `none`, names, and names with `-` before
/// them, in order; a list that begins with `-NAME` begins with all.
class Libraries {
public:
  /// Fails naming what is not among `names`, which the device has, and those.
  static llvm::Expected<Libraries> parse(llvm::StringRef list,
                                         llvm::StringRef device,
                                         llvm::ArrayRef<LibraryName> names);

  bool has(llvm::StringRef name) const { return allowed.contains(name); }

private:
  llvm::StringSet<> allowed;
};

} // namespace zc

#endif // ZC_PASSES_TARGET_LIBRARIES_H
