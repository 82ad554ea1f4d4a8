// The paths open to a run in a sandbox: the files that its options name.
#ifndef ZC_RUNTIME_DRIVER_SANDBOXOPTIONS_H
#define ZC_RUNTIME_DRIVER_SANDBOXOPTIONS_H

#include "runtime/Base/Sandbox.h"
#include "runtime/Driver/Evaluator.h"
#include "runtime/Driver/Trainer.h"

namespace zc {

/// Creates the folders and the log that the run will write to, for in a sandbox
/// nothing is created beside them. `trusted` are files that are read, too.
Result<SandboxPaths> pathsOf(const TrainOptions &options,
                             const std::vector<std::string> &trusted);
Result<SandboxPaths> pathsOf(const EvalOptions &options,
                             const std::vector<std::string> &trusted);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_SANDBOXOPTIONS_H
