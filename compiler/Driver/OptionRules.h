// Refuses options of `zc compile` that have no effect beside the others: a
// table.
#ifndef ZC_COMPILER_DRIVER_OPTIONRULES_H
#define ZC_COMPILER_DRIVER_OPTIONRULES_H

#include "compiler/Driver/Options.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Throws CLI::ValidationError where an option was given that would change
/// nothing, or that nothing is meant by, in the company of the others.
void checkOptionRules(const CLI::App &command, const CompileOptions &options);

/// The same, of what only the mesh decides: a search that tries several has no
/// use for it.
void checkMeshRules(const CLI::App &command, const CompileOptions &options);

} // namespace zc

#endif
