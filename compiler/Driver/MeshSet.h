// One artifact for several meshes: `--mesh dp=4 --mesh dp=3`.
#ifndef ZC_COMPILER_DRIVER_MESHSET_H
#define ZC_COMPILER_DRIVER_MESHSET_H

#include "compiler/Driver/CompileArguments.h"

namespace zc {

/// Between the meshes of CompileArguments::mesh.
constexpr char kBetweenMeshes = ';';

/// The meshes that were given. Throws CLI::ValidationError where two are for as
/// many ranks, of which a run could not tell which is meant.
std::vector<std::string> splitMeshes(const std::string &meshes);

/// Compiles the first mesh's artifact here, the others in processes of their
/// own, and puts these into it; returns the exit code.
int compileForMeshes(const std::vector<CompileOptions> &meshes);

} // namespace zc

#endif
