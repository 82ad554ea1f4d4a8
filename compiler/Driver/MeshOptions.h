// The options of `zc compile` that divide a step among ranks.
#ifndef ZC_COMPILER_DRIVER_MESHOPTIONS_H
#define ZC_COMPILER_DRIVER_MESHOPTIONS_H

#include "compiler/Driver/Options.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Adds --mesh; what is written stands in `mesh`.
void addMeshOptions(CLI::App &command, std::string &mesh);

/// "tp=2,dp=4", which has been checked, as axes in the order of ranks: slowest
/// first.
std::vector<MeshAxis> parseMesh(const std::string &text);

/// "dp=4,tp=2".
std::string printMesh(const CompileOptions &options);

} // namespace zc

#endif
