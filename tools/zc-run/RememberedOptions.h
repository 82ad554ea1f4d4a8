// The options of `zc run` that a run's checkpoints remember, and that are those
// of the run that goes on from them unless it is given others.
#ifndef ZC_TOOLS_ZCRUN_REMEMBEREDOPTIONS_H
#define ZC_TOOLS_ZCRUN_REMEMBEREDOPTIONS_H

#include "runtime/Io/Checkpoint.h"

#include <CLI/CLI.hpp>
#include <set>

namespace zc {

/// Gives the command every option that was remembered and was not given;
/// returns their names.
std::set<std::string> takeOver(CLI::App &command, const NamedTexts &remembered);

/// The options to remember: as given, or as they are by default.
NamedTexts remember(const CLI::App &command);

} // namespace zc

#endif // ZC_TOOLS_ZCRUN_REMEMBEREDOPTIONS_H
