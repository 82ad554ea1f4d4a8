// The options of `zc compile` that divide a step among ranks.
#ifndef ZC_COMPILER_DRIVER_MESHOPTIONS_H
#define ZC_COMPILER_DRIVER_MESHOPTIONS_H

#include "compiler/Driver/Options.h"

#include <CLI/CLI.hpp>

namespace zc {

/// Adds --mesh, what is written stands in `mesh`, and the options of ZeRO.
void addMeshOptions(CLI::App &command, CompileOptions &options,
                    std::string &mesh);

/// The error in options that do not go together; empty when all is well.
std::string checkMeshTogether(const CompileOptions &options);

/// The most bytes of gradients that are reduced together without ZeRO.
int64_t getBucketBytes(const CompileOptions &options);

/// The parts in which ranks divide the samples: those along tp, sp and pp see
/// the same ones.
int64_t countSampleShares(const CompileOptions &options);

/// The axes that divide ZeRO's units.
std::vector<std::string> getZeroAxes(const CompileOptions &options);

/// The error in a text like "tp=2,dp=4"; empty when all is well.
std::string checkMesh(const std::string &text);

/// How many ranks axes have together; one without any.
int64_t countRanks(const std::vector<MeshAxis> &mesh);

/// "tp=2,dp=4", which has been checked, as axes in the order of ranks: slowest
/// first.
std::vector<MeshAxis> parseMesh(const std::string &text);

/// The axes as programs know them: dp in two where groups of its ranks divide
/// units.
std::vector<MeshAxis> getProgramAxes(const CompileOptions &options);

/// The same as text, "dp=4,tp=2".
std::string printMesh(const CompileOptions &options);

} // namespace zc

#endif
