//===- NameMap.h - names of one role as those of another --------*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_NAMEMAP_H
#define ZC_PASSES_PIPELINE_NAMEMAP_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace zc {

/// Maps names of a role to those of an equal role, and with them names that
/// later passes derive: "state.h.1.fc.weight.exp_avg" goes with
/// "h.1.fc.weight".
class NameMap {
public:
  /// Says that `from` stands where the other role has `to`; so do the modules
  /// that they are in. False where that contradicts what was said before, or
  /// where such names could not be told from others in a text.
  bool add(llvm::StringRef from, llvm::StringRef to);

  /// Besides the names, "role<from>" in front of a '_' or a '.' is changed.
  void setRoles(int64_t from, int64_t to);

  /// The text with all names in it changed that words end around; longer names
  /// go first.
  std::string apply(llvm::StringRef text) const;

private:
  bool addOne(llvm::StringRef from, llvm::StringRef to);

  llvm::StringMap<std::string> names;
  llvm::StringSet<> taken; // what names were changed to
  std::string fromRole, toRole;
};

} // namespace zc

#endif // ZC_PASSES_PIPELINE_NAMEMAP_H
