// The options of the programs that a proof compares, on small dims.
#ifndef ZC_COMPILER_DRIVER_SMALLOPTIONS_H
#define ZC_COMPILER_DRIVER_SMALLOPTIONS_H

#include "compiler/Driver/Options.h"

#include <cstdint>
#include <vector>

namespace zc {

/// The options of both programs, as far as small dims allow: a mesh of few
/// ranks, no target, no numbers that follow from large dims.
CompileOptions makeSmallOptions(CompileOptions options);

/// The same without what divides the program.
CompileOptions makeWholeOptions(CompileOptions options);

/// The numbers that divide dims: the size of each axis, and the products of all
/// that together divide samples or ZeRO's units.
std::vector<int64_t> listDivisors(const CompileOptions &options);

} // namespace zc

#endif
