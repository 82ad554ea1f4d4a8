// --trust and --sandbox: whose code is run, and what it may do.
#ifndef ZC_TOOLS_ZCRUN_TRUSTOPTIONS_H
#define ZC_TOOLS_ZCRUN_TRUSTOPTIONS_H

#include "tools/zc-run/Commands.h"

namespace zc {

Command addSignCommand(CLI::App &app);

/// `isShut` becomes whether --sandbox was given.
void addTrustOptions(CLI::App &app, LaunchOptions &options, bool &isShut);

} // namespace zc

#endif // ZC_TOOLS_ZCRUN_TRUSTOPTIONS_H
