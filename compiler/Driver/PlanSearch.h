// `zc plan --search`: which layout is the quickest that fits.
#ifndef ZC_COMPILER_DRIVER_PLANSEARCH_H
#define ZC_COMPILER_DRIVER_PLANSEARCH_H

#include "compiler/Driver/Options.h"
#include "compiler/Plan/SearchReport.h"

#include <CLI/CLI.hpp>

namespace zc {

struct SearchOptions {
  int64_t ranks = 0;     // 0: as the mesh has them, or the whole cluster
  double timeLimit = 60; // seconds
  std::vector<std::string> placement;
};

/// Compiles and simulates layouts of the model. Settings that the command line
/// fixes stay: the mesh, the ZeRO stage, micro-batches, schedule,
/// recomputation. Fails where the model itself does not compile.
Result<SearchReport> searchLayouts(const CLI::App &command,
                                   const CompileOptions &options,
                                   const Cluster &cluster,
                                   const SearchOptions &search);

} // namespace zc

#endif
