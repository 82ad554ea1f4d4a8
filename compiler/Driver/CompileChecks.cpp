#include "compiler/Driver/CompileChecks.h"

#include "compiler/Driver/LossOptions.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/OptionRules.h"
#include "compiler/Driver/PipelineOptions.h"
#include "compiler/Driver/SequenceOptions.h"
#include "compiler/Driver/TargetOptions.h"
#include "passes/Target/Devices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace zc;

// No rank has a whole gradient or a whole momentum of all.
static void checkCompressed(const CLI::App &command,
                            const CompileOptions &options) {
  if (options.optimizer != "onebit-adam")
    return;
  if (options.clipNorm > 0)
    throw CLI::ValidationError(
        "--clip-norm", "has no meaning with --optimizer onebit-adam: no rank "
                       "knows the norm of the mean gradient, of which none has "
                       "more than signs; leave it out");
  for (const char *name : {"--clip-value", "--group", "--ema"})
    if (command.count(name) > 0)
      throw CLI::ValidationError(name,
                                 "does not go with --optimizer onebit-adam, "
                                 "whose ranks update from signs of momentum");
  if (options.zero > 0)
    throw CLI::ValidationError(
        "--zero", "with --optimizer onebit-adam every rank compresses whole "
                  "momentum; expected --zero 0, found " +
                      std::to_string(options.zero));
}

// Checks options that depend on one another.
static void checkTogether(const CompileOptions &options) {
  const DeviceKind &device = getDeviceKind(options.target);
  if (options.emit == Emit::Ptx && !device.runsThreadBlocks)
    throw CLI::ValidationError("--emit", "ptx belongs to --target cuda");
  if (!device.storesSparse &&
      llvm::StringRef(options.compressActivations).contains("sparse"))
    throw CLI::ValidationError("--compress-activations",
                               "'sparse' belongs to --target cpu");
  for (const std::string &wrong :
       {checkTargetTogether(options), checkMeshTogether(options),
        checkSequenceTogether(options), checkPipelineTogether(options)})
    if (!wrong.empty())
      throw CLI::ValidationError(wrong);
}

void zc::checkCompileOptions(const CLI::App &command,
                             const CompileOptions &options) {
  checkLossGiven(options);
  checkOptionRules(command, options);
  checkTogether(options);
  checkCompressed(command, options);
}
