#include "compiler/Driver/RegisterPhases.h"

#include "compiler/Driver/CompileArguments.h"
#include "compiler/Driver/PassOptions.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "runtime/Plan/Axes.h"
#include <CLI/CLI.hpp>

using namespace mlir;
using namespace zc;

/// The options of a compilation that knows no file.
static Result<PassOptions> parsePassOptions(const std::string &text) {
  CLI::App command;
  CompileArguments arguments;
  addModelOptions(command, arguments);
  try {
    command.parse(text);
    completeOptions(command, arguments);
  } catch (const CLI::ParseError &error) {
    return Status(StatusCode::InvalidArgument, error.what());
  }
  const CompileOptions &options = arguments.options;
  PassOptions passes = getPassOptions(options);
  PipelineSchedule schedule;
  if (options.getAxisSize(axes::kRole) > 1) {
    ZC_ASSIGN_OR_RETURN(schedule, chooseSchedule(options));
  }
  setStages(options, schedule, /*patterns=*/"", passes);
  setRoles(options, schedule, passes);
  setResiduals(options, options.sequenceParallel, passes);
  return passes;
}

static void addPhase(const char *name, const char *what,
                     void (*add)(OpPassManager &, const PassOptions &)) {
  registerPassPipeline(
      name, what,
      [add](OpPassManager &manager, StringRef text,
            function_ref<LogicalResult(const Twine &)> report) {
        Result<PassOptions> options = parsePassOptions(text.str());
        if (!options.ok())
          return report(options.status().message());
        add(manager, *options);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}

void zc::registerPhases() {
  addPhase("zc-phase-train", "phase: ONNX nodes to train ops", addTrain);
  addPhase("zc-phase-step", "phase: the loss, and what is divided by hand",
           addStep);
  addPhase("zc-phase-roles", "phase: a module for each role", addRoles);
  addPhase("zc-phase-programs", "phase: gradients and optimizer", addPrograms);
  addPhase("zc-phase-sharded", "phase: programs of a rank of the mesh",
           addSharded);
  addPhase("zc-phase-fused", "phase: the values that exist", addFused);
  addPhase("zc-phase-sched", "phase: instructions and offsets", addSched);
  addPhase("zc-phase-llvm", "phase: kernels to LLVM", addLlvm);
  addPhase("zc-all-phases", "all phases of a model that no pipeline cuts",
           addAllPhases);
}
