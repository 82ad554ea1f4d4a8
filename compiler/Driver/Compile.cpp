#include "compiler/Driver/Compile.h"

#include "compiler/Driver/ArtifactOutput.h"
#include "compiler/Driver/DivisionProof.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/Registration.h"
#include "compiler/Driver/Summary.h"
#include "compiler/Driver/TextOutput.h"
#include "compiler/OnnxModel/ExternalData.h"
#include "runtime/Base/File.h"
#include "runtime/Base/InputFiles.h"

#include "llvm/Support/FileSystem.h"
#include <chrono>

using namespace mlir;
using namespace zc;

// The model and what belongs to it. What cannot be read is reported by the
// import.
static InputFiles listInputs(const CompileOptions &options) {
  InputFiles inputs;
  inputs.add(options.model);
  inputs.add(options.tpRules);
  for (const auto &[name, file] : options.constantInputs)
    inputs.add(file);
  llvm::Expected<ModelFile> file =
      readModelFile(options.model, AbsentData::Allowed);
  if (!file) {
    llvm::consumeError(file.takeError());
    return inputs;
  }
  forEachTensor(file->model, [&](proto::TensorProto &tensor) {
    if (std::optional<TensorSource> source = getSource(*file, tensor))
      inputs.add(file->folder + "/" + source->file);
  });
  return inputs;
}

// Places that cannot take the output are found before any work.
static Status checkPlaces(const CompileOptions &options) {
  if (!options.output.empty()) {
    ZC_RETURN_IF_ERROR(checkParentExists(options.output));
    if (llvm::sys::fs::exists(options.output))
      ZC_RETURN_IF_ERROR(listInputs(options).check("--output", options.output));
  }
  if (!options.dumpIr.empty())
    ZC_RETURN_IF_ERROR(makeDirectories(options.dumpIr));
  return Status();
}

static int emitModule(Phases &phases, const CompileOptions &options) {
  return emitText(options.output, printModule(phases.getModule()));
}

/// A proof may take a tenth of what the compilation has taken; the interpreter
/// takes some 20 ns an operation.
static double getProofOperations(const CompileOptions &options,
                                 double seconds) {
  constexpr double kPerSecond = 5e7;
  return options.verify == "deep" ? 1e10 // minutes
                                  : std::max(0.05, seconds / 10) * kPerSecond;
}

/// The forward that a proof begins with; null where there is none to make.
static OwningOpRef<ModuleOp> keepForProof(Phases &phases,
                                          const CompileOptions &options) {
  const bool isDivided = options.getNumRanks() > 1;
  return options.mode == "train" && options.emit == Emit::Artifact &&
                 (options.verify == "deep" ||
                  (options.verify == "on" && isDivided))
             ? OwningOpRef<ModuleOp>(phases.getModule().clone())
             : OwningOpRef<ModuleOp>();
}

/// Returns an exit code.
static int prove(OwningOpRef<ModuleOp> forward, CompileOptions options,
                 double seconds, Phases &phases, Summary &summary) {
  if (!forward)
    return 0;
  ScopedTime time(phases.getTimes(), "prove division");
  if (!phases.getSequenceParallel().empty())
    options.sequenceParallel = phases.getSequenceParallel();
  const ProofReport report = proveDivision(
      std::move(forward), options, listDivisions(phases.getModule()),
      getProofOperations(options, seconds));
  if (report.outcome == ProofReport::Outcome::Differs)
    return reportError(
        "internal error: on small dims the program does not train as the plain "
        "one of one rank does: it differs in " +
        report.why +
        ". Nothing was written. Please report this; --verify off writes the "
        "artifact");
  summary.proof = report;
  return 0;
}

static int runPhases(Phases &phases, const CompileOptions &options) {
  auto started = std::chrono::steady_clock::now();
  auto getSeconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         started)
        .count();
  };
  if (failed(phases.importModel()))
    return 1;
  if (options.emit == Emit::Onnx)
    return emitModule(phases, options);
  Summary summary = summarizeModel(phases.getModule());
  if (failed(phases.convertToTrain()))
    return 1;
  if (options.emit == Emit::Train)
    return emitModule(phases, options);
  OwningOpRef<ModuleOp> forward = keepForProof(phases, options);
  if (failed(phases.buildPrograms()))
    return 1;
  if (options.emit == Emit::Step)
    return emitModule(phases, options);
  if (failed(phases.divide()))
    return 1;
  if (options.emit == Emit::Sharded)
    return emitModule(phases, options);
  if (failed(phases.schedule()))
    return 1;
  summarizeMemory(phases.getModule(), phases.getPipeline(), summary);
  if (options.emit == Emit::Sched)
    return emitModule(phases, options);
  if (failed(phases.generateCode()))
    return 1;
  if (options.emit == Emit::Llvm || options.emit == Emit::Ptx)
    return emitMachineCode(phases.getModule(), options);
  if (int code =
          prove(std::move(forward), options, getSeconds(), phases, summary))
    return code;
  if (int code =
          writeArtifact(phases.getModule(), options, phases.getPipeline(),
                        summary, phases.getTimes()))
    return code;
  const double seconds = getSeconds();
  if (options.verbose)
    phases.getTimes().print(llvm::errs(), seconds);
  if (!options.quiet)
    printSummary(summary, options, seconds);
  return 0;
}

namespace {
/// What phases need around them.
struct CompilerContext {
  CompilerContext() : context(makeRegistry()) {
    context.loadAllAvailableDialects();
    // Messages are for people; --dump-ir shows the IR.
    context.printOpOnDiagnostic(false);
  }
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  MLIRContext context;
};
} // namespace

int zc::compile(const CompileOptions &options) {
  if (Status status = checkPlaces(options); !status.ok())
    return reportError(status.message());
  CompilerContext around;
  Phases phases(&around.context, options);
  return runPhases(phases, options);
}

int zc::findBatch(const CompileOptions &options, int64_t &batch) {
  CompilerContext around;
  Phases phases(&around.context, options);
  if (failed(phases.importModel()))
    return 1;
  batch = summarizeModel(phases.getModule()).batch;
  return 0;
}

int zc::compilePlan(const CompileOptions &options, plan::Manifest &manifest) {
  if (Status status = checkPlaces(options); !status.ok())
    return reportError(status.message());
  CompilerContext around;
  Phases phases(&around.context, options);
  if (failed(phases.importModel()))
    return 1;
  const Summary summary = summarizeModel(phases.getModule());
  const auto started = std::chrono::steady_clock::now();
  if (failed(phases.convertToTrain()))
    return 1;
  OwningOpRef<ModuleOp> forward = keepForProof(phases, options);
  if (failed(phases.buildPrograms()) || failed(phases.divide()) ||
      failed(phases.schedule()))
    return 1;
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - started;
  Summary shown;
  if (int code =
          prove(std::move(forward), options, seconds.count(), phases, shown))
    return code;
  if (shown.proof)
    printProof(*shown.proof, llvm::errs());
  Result<plan::Manifest> planned =
      planManifest(phases.getModule(), options, phases.getPipeline(), summary);
  if (!planned.ok())
    return reportError("internal error in phase 'plan': " +
                       planned.status().message());
  manifest = std::move(*planned);
  return 0;
}
