// `zc plan --table`: memory by ZeRO stage.
#ifndef ZC_COMPILER_DRIVER_PLANTABLE_H
#define ZC_COMPILER_DRIVER_PLANTABLE_H

#include "compiler/Driver/Options.h"
#include "compiler/Plan/StateTable.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Compiles the model for each stage, as the other options say.
std::vector<StateRow> makeStateTable(const CLI::App &command,
                                     const CompileOptions &options,
                                     const Cluster &cluster);

/// By formula, without a model.
std::vector<StateRow> makeStateTable(double parameters, int64_t ranks,
                                     const Cluster &cluster);

} // namespace zc

#endif
