#include "compiler/Driver/Compile.h"

#include "compiler/Driver/ArtifactOutput.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/ProofProcess.h"
#include "compiler/Driver/Registration.h"
#include "compiler/Driver/Summary.h"
#include "compiler/Driver/TextOutput.h"
#include "compiler/OnnxModel/ExternalData.h"
#include "passes/Codegen/TemporaryFile.h"
#include "runtime/Base/File.h"
#include "runtime/Base/InputFiles.h"
#include "runtime/Base/LeftOvers.h"
#include "runtime/Base/Surroundings.h"
#include "runtime/Plan/Axes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace mlir;
using namespace zc;

// The model and the files that belong to it. The import reports those that
// cannot be read.
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

/// Begins the proof as early as it can, beside the rest of the compilation:
/// before the programs are built, or behind, where the small program is divided
/// over tp as they are, or once they are divided, where a budget decides
/// whether tokens are. Threads may run from then on.
class ProofStart {
public:
  ProofStart(Phases &phases, const CompileOptions &options)
      : phases(phases), options(options),
        forward(keepForProof(phases, options)) {
    if (options.getAxisSize(axes::kTensor) == 1)
      start();
  }

  void programsAreBuilt() {
    const bool awaitsChoice =
        options.sequenceParallel == "auto" && options.memoryBudget > 0;
    if (!isStarted && !awaitsChoice)
      start();
  }

  void programsAreDivided() {
    if (!isStarted)
      start();
  }

  ProofProcess *get() { return proof.get(); }

private:
  void start() {
    isStarted = true;
    if (forward) {
      const std::vector<std::string> divisions =
          listDivisions(phases.getModule());
      CompileOptions chosen = options;
      if (!phases.getSequenceParallel().empty())
        chosen.sequenceParallel = phases.getSequenceParallel();
      proof = std::make_unique<ProofProcess>(
          [&] { return proveDivision(std::move(forward), chosen, divisions); });
      forward = {};
    }
    makeRoomForStacks();
    phases.getModule().getContext()->enableMultithreading();
  }

  Phases &phases;
  const CompileOptions &options;
  OwningOpRef<ModuleOp> forward;
  std::unique_ptr<ProofProcess> proof;
  bool isStarted = false;
};

/// `seconds`: that may be waited. Returns an exit code.
static int finishProof(ProofProcess *proof, double seconds, int64_t ranks,
                       Phases &phases, Summary &summary) {
  if (!proof)
    return 0;
  ScopedTime time(phases.getTimes(), "wait for the proof");
  ProofReport report = proof->wait(seconds);
  if (report.ranks == 0) // it had no time to say so
    report.ranks = ranks;
  if (report.outcome == ProofReport::Outcome::Differs)
    return reportError(
        "internal error: on small dims the program does not train as the plain "
        "one of one rank does: it differs in " +
        report.why +
        ". Nothing was written. Please report this; --verify off writes the "
        "artifact");
  if (report.isLost && seconds == 0)
    return reportError("--verify deep: nothing is proven, for " + report.why +
                       ". Nothing was written; compile again, or with --verify "
                       "on");
  summary.proof = report;
  return 0;
}

/// A tenth of what the compilation has taken, at least 50 ms; 0: any time.
static double getProofSeconds(const CompileOptions &options, double seconds) {
  return options.verify == "deep" ? 0 : std::max(0.05, seconds / 10);
}

static int runPhases(Phases &phases, const CompileOptions &options,
                     std::string &verdict) {
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
  Summary summary = summarizeModel(phases.getModule(), listLosses(options));
  if (failed(phases.convertToTrain()))
    return 1;
  if (options.emit == Emit::Train)
    return emitModule(phases, options);
  ProofStart proof(phases, options);
  if (failed(phases.buildPrograms()))
    return 1;
  proof.programsAreBuilt();
  if (options.emit == Emit::Step)
    return emitModule(phases, options);
  if (failed(phases.divide()))
    return 1;
  proof.programsAreDivided();
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
          finishProof(proof.get(), getProofSeconds(options, getSeconds()),
                      options.getNumRanks(), phases, summary))
    return code;
  if (options.verbose && proof.get())
    llvm::errs() << llvm::formatv(
        "zc: the proof took {0:f3} s of a processor\n",
        proof.get()->usedSeconds());
  if (int code =
          writeArtifact(phases.getModule(), options, phases.getPipeline(),
                        summary, phases.getTimes()))
    return code;
  const double seconds = getSeconds();
  if (options.verbose)
    phases.getTimes().print(llvm::errs(), seconds);
  if (!options.quiet)
    printSummary(summary, options, seconds);
  llvm::raw_string_ostream lines(verdict);
  if (summary.proof)
    printProof(*summary.proof, lines);
  return 0;
}

namespace {
/// The MLIR context in which the phases run.
struct CompilerContext {
  // One thread, until the process that proves has left.
  CompilerContext()
      : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
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

/// Puts the process into the names of temporary files for the linker, from now
/// on.
static void markTemporaries() {
  static const std::string prefix = temporaryPrefix();
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  clearLeftOver(folder.str().str(), prefix);
  std::string own = ownPrefix(prefix);
  own.pop_back(); // the maker of names has a line of its own
  temporaryPrefix() = own;
}

int zc::compile(const CompileOptions &options) {
  std::string verdict;
  return compile(options, verdict);
}

int zc::compile(const CompileOptions &options, std::string &verdict) {
  if (Status status = checkPlaces(options); !status.ok())
    return reportError(status.message());
  markTemporaries();
  CompilerContext around;
  Phases phases(&around.context, options);
  return runPhases(phases, options, verdict);
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
  ProofStart proof(phases, options);
  if (failed(phases.buildPrograms()))
    return 1;
  proof.programsAreBuilt();
  if (failed(phases.divide()))
    return 1;
  proof.programsAreDivided();
  if (failed(phases.schedule()))
    return 1;
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - started;
  // A user who plans asks for the proof.
  constexpr double kAsked = 60;
  const double allowed = getProofSeconds(options, seconds.count());
  Summary shown;
  if (int code =
          finishProof(proof.get(), allowed > 0 ? std::max(allowed, kAsked) : 0,
                      options.getNumRanks(), phases, shown))
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
