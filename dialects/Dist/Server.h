//===- Server.h - one rank that updates for the others ----------*- C++ -*-===//
#ifndef ZC_DIALECTS_DIST_SERVER_H
#define ZC_DIALECTS_DIST_SERVER_H

#include "llvm/ADT/StringRef.h"

namespace zc::dist {

/// On the module (unit): the first rank along "dp" is a parameter server, which
/// alone holds the optimizer's states. On a dist.broadcast of what it has
/// computed: the state of whose new value (symbol), or of a metric (unit). On a
/// program's result (unit): it has a meaning there alone.
inline constexpr llvm::StringLiteral kServerAttr = "dist.server";

} // namespace zc::dist

#endif // ZC_DIALECTS_DIST_SERVER_H
