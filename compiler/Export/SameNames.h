// Names that passes and the runtime, which knows no dialect, each have.
#ifndef ZC_COMPILER_EXPORT_SAMENAMES_H
#define ZC_COMPILER_EXPORT_SAMENAMES_H

#include "llvm/ADT/StringRef.h"

#include <string_view>

namespace zc {

/// For a static_assert that the two have one name.
constexpr bool isSame(llvm::StringLiteral name, std::string_view other) {
  return std::string_view(name.data(), name.size()) == other;
}

} // namespace zc

#endif
