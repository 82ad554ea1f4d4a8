// --weight-decay, --beta1 and other numbers of the update that a run may have
// otherwise than they were compiled.
#ifndef ZC_TOOLS_ZCRUN_UPDATEOPTIONS_H
#define ZC_TOOLS_ZCRUN_UPDATEOPTIONS_H

#include "runtime/Driver/Trainer.h"

#include <CLI/CLI.hpp>

namespace zc {

void addUpdateOptions(CLI::App &app, TrainOptions &options);

} // namespace zc

#endif // ZC_TOOLS_ZCRUN_UPDATEOPTIONS_H
