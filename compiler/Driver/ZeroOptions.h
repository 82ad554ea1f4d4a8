// The options of ZeRO, as its pass takes them.
#ifndef ZC_COMPILER_DRIVER_ZEROOPTIONS_H
#define ZC_COMPILER_DRIVER_ZEROOPTIONS_H

#include "compiler/Driver/Options.h"
#include "passes/Sharding/Passes.h"

namespace zc {

/// Gradients that are sent together: enough for the full rate of a link; more
/// would only make buffers larger.
inline constexpr int64_t kMostTogether = 64 << 20;

ApplyZeroPassOptions getZeroOptions(const CompileOptions &options);

} // namespace zc

#endif
