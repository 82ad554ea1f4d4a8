//===- zc-interpret.cpp - runs a program of the train dialect -------------===//
#include "compiler/Interpreter/Bindings.h"
#include "compiler/Interpreter/Compare.h"
#include "compiler/Interpreter/Interpreter.h"
#include "compiler/Interpreter/Npy.h"
#include "compiler/Interpreter/Roles.h"
#include "compiler/Interpreter/SimulatedRanks.h"
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace zc::interpreter;
namespace cl = llvm::cl;

static cl::OptionCategory category("zc-interpret");
static cl::opt<std::string> file(cl::Positional, cl::Required,
                                 cl::desc("<module.mlir>"), cl::cat(category));
static cl::opt<std::string> programName("program", cl::init("forward"),
                                        cl::desc("The function to run"),
                                        cl::cat(category));
static cl::opt<unsigned>
    steps("steps", cl::value_desc("N"), cl::cat(category),
          cl::desc("Train N steps: @micro and @apply, or @step"));
static cl::opt<unsigned> microBatches(
    "accumulate", cl::init(1), cl::value_desc("K"), cl::cat(category),
    cl::desc(
        "The micro-batches of each step, one after another in the inputs"));
static cl::opt<std::string>
    against("against", cl::value_desc("ONE.mlir"), cl::cat(category),
            cl::desc("With --steps: whether this module, undivided, trains "
                     "alike from random states and samples; else whether its "
                     "--program does, whose ranks are a dim of its tensors"));
static cl::list<std::string>
    inputs("input", cl::desc("The value of an argument, by name"),
           cl::value_desc("NAME=FILE.npy"), cl::cat(category));
static cl::opt<unsigned> seed("random",
                              cl::desc("Draw the arguments that have no value"),
                              cl::value_desc("SEED"), cl::cat(category));
static cl::opt<Precision> precision(
    "precision", cl::init(Precision::Double), cl::cat(category),
    cl::desc("How floats are computed"),
    cl::values(clEnumValN(Precision::Double, "f64", "in double precision"),
               clEnumValN(Precision::Wide, "wide",
                          "in double precision, as proofs do: numbers of 16 "
                          "bits and fractions are not rounded"),
               clEnumValN(Precision::Single, "f32",
                          "rounded to 32 bits after every operation")));
static cl::opt<std::string>
    outputFolder("output-dir",
                 cl::desc("Write each result to DIR/NAME.npy, print none"),
                 cl::value_desc("DIR"), cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "zc-interpret") << message << "\n";
  return 1;
}

static llvm::Expected<llvm::StringMap<Tensor>> readInputs() {
  llvm::StringMap<Tensor> given;
  for (StringRef input : inputs) {
    auto [name, path] = input.split('=');
    if (path.empty())
      return llvm::createStringError("--input is '" + input +
                                     "', expected NAME=FILE.npy");
    llvm::Expected<Tensor> tensor = readNpy(path);
    if (!tensor)
      return tensor.takeError();
    given[name] = std::move(*tensor);
  }
  return given;
}

static int write(const NamedTensors &results) {
  for (const auto &[name, result] : results) {
    if (outputFolder.empty())
      print(llvm::outs(), name, result);
    else if (auto error = writeNpy(outputFolder + "/" + name + ".npy", result))
      return fail(llvm::toString(std::move(error)));
  }
  return 0;
}

static int interpret(ModuleOp module, const llvm::StringMap<Tensor> &given) {
  auto programs = findPrograms(module, programName);
  if (failed(programs))
    return 1;
  if (programs->empty())
    return fail(file + ": has no program '" + programName + "'");
  std::optional<unsigned> chosenSeed;
  if (seed.getNumOccurrences())
    chosenSeed = seed;
  if (failed(checkNames(*programs, given)))
    return 1;
  auto values = bindArguments(*programs, given, chosenSeed);
  if (failed(values))
    return 1;
  Interpreter interpreter(precision);
  auto results = runPrograms(interpreter, *programs, *values);
  return failed(results) ? 1 : write(*results);
}

static int train(ModuleOp module, const llvm::StringMap<Tensor> &given) {
  Interpreter interpreter(precision);
  auto results = runSteps(interpreter, module, given, {steps, microBatches});
  return failed(results) ? 1 : write(*results);
}

/// Says how far the results are from those of another module; fails where they
/// are further than rounding explains.
static int compareWith(ModuleOp one, ModuleOp module) {
  Interpreter interpreter(precision);
  if (!steps.getNumOccurrences())
    simulateRanks(one);
  auto comparison = steps.getNumOccurrences()
                        ? compareSteps(interpreter, one, module,
                                       {steps, microBatches}, Tolerance(), seed)
                        : compareProgram(interpreter, one, module, programName,
                                         Tolerance(), seed);
  if (failed(comparison))
    return 1;
  llvm::outs() << comparison->tensors << " tensors, the furthest "
               << llvm::format("%.3g", comparison->worst) << ", "
               << comparison->zeros << " zeros and " << comparison->notNumbers
               << " NaN of " << comparison->elements << " elements\n";
  if (comparison->rounding > 0)
    llvm::outs() << "rounding explains "
                 << llvm::format("%.3g", comparison->rounding) << "\n";
  if (comparison->noisy > 0)
    llvm::outs() << comparison->noisy << " more are noise"
                 << (comparison->isMostlyNoise() ? ", too many\n" : "\n");
  for (const Difference &each :
       llvm::concat<const Difference>(comparison->atFirst, comparison->beyond))
    llvm::outs() << "differs: " << each.name << " by "
                 << llvm::format("%.3g", each.error) << "\n";
  for (const Difference &each : comparison->doubtful)
    llvm::outs() << "differs: " << each.name << " by "
                 << llvm::format("%.3g", each.error)
                 << ", which may be rounding\n";
  return comparison->atFirst.empty() && comparison->beyond.empty() &&
                 comparison->doubtful.empty() && !comparison->isMostlyNoise()
             ? 0
             : 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "runs a program of the train dialect\n");
  MLIRContext context;
  context.loadDialect<zc::train::TrainDialect, zc::dist::DistDialect,
                      zc::sched::SchedDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, &context);
  if (!module)
    return 1;
  if (!against.empty()) {
    OwningOpRef<ModuleOp> one = parseSourceFile<ModuleOp>(against, &context);
    return one ? compareWith(*one, *module) : 1;
  }
  auto given = readInputs();
  if (!given)
    return fail(llvm::toString(given.takeError()));
  return steps.getNumOccurrences() ? train(*module, *given)
                                   : interpret(*module, *given);
}
