// `zc plan --scale`: one model with several sizes of one axis of the mesh.
#ifndef ZC_COMPILER_DRIVER_PLANSCALE_H
#define ZC_COMPILER_DRIVER_PLANSCALE_H

#include "compiler/Driver/CompileArguments.h"
#include "compiler/Plan/ScaleTable.h"

#include <CLI/CLI.hpp>

#include <functional>

namespace zc {

struct ScaleOptions {
  std::string sizes;       // "dp=1,2,4"; empty: no table is asked for
  bool growsBatch = false; // in proportion to the axis
};

/// Adds `--scale` and `--scale-batch`.
void addScaleOptions(CLI::App &command, ScaleOptions &options);

/// Turns arguments into options, and checks them in company, as for one plan;
/// throws CLI::ParseError.
using CompleteArguments = std::function<void(CompileArguments &)>;

/// Plans the model with each size, in processes of their own. Throws
/// CLI::ValidationError where the options do not fit together.
ScaleTable makeScaleTable(const ScaleOptions &scale,
                          const CompileArguments &arguments,
                          const Cluster &cluster,
                          const std::vector<std::string> &placement,
                          const CompleteArguments &complete);

} // namespace zc

#endif
