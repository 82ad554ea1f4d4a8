//===- WholeNotes.h - notes on what an axis leaves whole --------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_WHOLENOTES_H
#define ZC_PASSES_SHARDING_WHOLENOTES_H

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace zc {

/// Says which parameters the ranks of an axis have whole, and why.
class WholeNotes {
public:
  /// `size`: of a loop over them that ranks cannot divide.
  void leave(int64_t size, llvm::SmallVector<std::string> names);
  /// A parameter of so many heads is whole, but its heads are repeated.
  void repeatHeads(int64_t heads, llvm::StringRef name);

  llvm::SmallVector<std::string> write(llvm::StringRef axis,
                                       int64_t ranks) const;

private:
  bool hasRepeated(llvm::StringRef name) const;

  llvm::SmallVector<std::pair<int64_t, llvm::SmallVector<std::string>>> left;
  std::map<int64_t, llvm::SetVector<llvm::StringRef>> repeated; // by heads
};

} // namespace zc

#endif // ZC_PASSES_SHARDING_WHOLENOTES_H
