// The last phase: machine code, and everything into one file.
#ifndef ZC_COMPILER_DRIVER_ARTIFACTOUTPUT_H
#define ZC_COMPILER_DRIVER_ARTIFACTOUTPUT_H

#include "compiler/Driver/Options.h"
#include "compiler/Driver/PassTimes.h"
#include "compiler/Driver/Summary.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"
#include "runtime/Plan/Order/Schedules.h"

namespace zc {

/// Prints the kernels' optimised LLVM IR; returns the exit code.
int emitMachineCode(mlir::ModuleOp module, const CompileOptions &options);

/// The manifest that the artifact would have, but for machine code.
Result<plan::Manifest> planManifest(mlir::ModuleOp module,
                                    const CompileOptions &options,
                                    const PipelineSchedule &pipeline,
                                    const Summary &summary);

/// Writes the artifact, of the pipeline's schedule if there is one, and
/// completes `summary`; returns the exit code.
int writeArtifact(mlir::ModuleOp module, const CompileOptions &options,
                  const PipelineSchedule &pipeline, Summary &summary,
                  PassTimes &times);

} // namespace zc

#endif
