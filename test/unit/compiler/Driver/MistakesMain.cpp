// zc with a mistake in what it divides, for test/e2e/proof_mistakes_test.py:
//   zc-test-mistakes compile|plan MODEL.onnx OPTIONS...
// does what `zc compile` and `zc plan` do, but that the first sum over ranks of
// each program is left out;
//   zc-test-mistakes prove MODEL.onnx OPTIONS... [--write SMALL.mlir]
//                    [--given WRONG.mlir...]
// makes the proof of `zc compile --verify`, writes the program of many ranks
// that it compares with one rank's, makes it again with each given program in
// the other's place, and prints a line for each outcome.
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/CompileArguments.h"
#include "compiler/Driver/CompileChecks.h"
#include "compiler/Driver/DivisionProof.h"
#include "compiler/Driver/OptionRules.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/Registration.h"
#include "compiler/Driver/TextOutput.h"
#include "dialects/Dist/DistDialect.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace zc;

/// A pass that forgets a sum.
static void dropFirstSums(ModuleOp module) {
  module.walk([](func::FuncOp program) {
    program.walk([](dist::AllReduceOp sum) {
      sum.replaceAllUsesWith(sum.getInput());
      sum.erase();
      return WalkResult::interrupt();
    });
  });
}

static void replace(ModuleOp module, ModuleOp other) {
  module.getBodyRegion().takeBody(other.getBodyRegion());
  module->setAttrs(other->getAttrDictionary());
}

namespace {
/// Makes the proof of one model many times.
class Prover {
public:
  explicit Prover(const CompileOptions &options)
      : context(makeRegistry(), MLIRContext::Threading::DISABLED),
        options(options) {
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false);
  }

  /// As a compilation does, up to where it begins with the proof.
  LogicalResult begin() {
    Phases phases(&context, options);
    if (failed(phases.importModel()) || failed(phases.convertToTrain()))
      return failure();
    forward = phases.getModule().clone();
    if (failed(phases.buildPrograms()))
      return failure();
    divisions = listDivisions(phases.getModule());
    return success();
  }

  /// The outcome, where `change` is given what the proof has divided.
  std::string prove(const std::function<void(ModuleOp)> &change) {
    options.changesDivided = change;
    ProofReport report = proveDivision(forward->clone(), options, divisions);
    using Outcome = ProofReport::Outcome;
    return (report.outcome == Outcome::Equal     ? "equal"
            : report.outcome == Outcome::Differs ? "differs: "
                                                 : "not shown: ") +
           report.why;
  }

  /// The outcome with the program of a file; "refused: " by the verifier of
  /// the IR, or that it was not looked at.
  std::string proveGiven(const std::string &file) {
    std::string error;
    ScopedDiagnosticHandler collect(
        &context, [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
    OwningOpRef<ModuleOp> given = parseSourceFile<ModuleOp>(file, &context);
    if (!given)
      return "refused: " + error;
    bool isSeen = false;
    std::string outcome = prove([&](ModuleOp divided) {
      isSeen = true;
      replace(divided, *given);
    });
    return isSeen ? outcome : "never seen: " + outcome;
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  MLIRContext context;
  CompileOptions options;
  OwningOpRef<ModuleOp> forward;
  std::vector<std::string> divisions;
};

/// The command line.
struct Asked {
  CompileArguments compilation;
  std::string write;
  std::vector<std::string> given;
};
} // namespace

static int prove(const Asked &asked) {
  Prover prover(asked.compilation.options);
  if (failed(prover.begin()))
    return 1;
  int code = 0;
  if (!asked.write.empty())
    llvm::outs() << prover.prove([&](ModuleOp divided) {
      code = emitText(asked.write, printModule(divided));
    }) << '\n';
  for (const std::string &file : asked.given)
    llvm::outs() << prover.proveGiven(file) << '\n';
  return code;
}

static int compileWrongly(CompileOptions options, bool plansOnly) {
  options.changesDivided = dropFirstSums;
  options.plansOnly = plansOnly;
  plan::Manifest manifest;
  return plansOnly ? compilePlan(options, manifest) : compile(options);
}

static CLI::App *addCommand(CLI::App &app, const char *name, Asked &asked) {
  CLI::App *command = app.add_subcommand(name);
  CompileOptions &options = asked.compilation.options;
  command->add_option("model", options.model)->required();
  command->add_option("-o,--output", options.output);
  addModelOptions(*command, asked.compilation);
  return command;
}

static int run(CLI::App &command, Asked &asked) {
  completeOptions(command, asked.compilation);
  checkCompileOptions(command, asked.compilation.options);
  checkMeshRules(command, asked.compilation.options);
  return command.get_name() == "prove"
             ? prove(asked)
             : compileWrongly(asked.compilation.options,
                              command.get_name() == "plan");
}

int main(int argc, char **argv) {
  CLI::App app("zc with a mistake", "zc-test-mistakes");
  app.require_subcommand(1);
  Asked compiled, planned, proven;
  addCommand(app, "compile", compiled);
  addCommand(app, "plan", planned);
  CLI::App *proof = addCommand(app, "prove", proven);
  proof->add_option("--write", proven.write);
  proof->add_option("--given", proven.given);
  try {
    app.parse(argc, argv);
    CLI::App *command = app.get_subcommands().front();
    return run(*command, command == proof                ? proven
                         : command->get_name() == "plan" ? planned
                                                         : compiled);
  } catch (const CLI::ParseError &error) {
    return app.exit(error);
  }
}
