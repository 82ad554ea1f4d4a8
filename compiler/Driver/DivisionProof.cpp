#include "compiler/Driver/DivisionProof.h"

#include "compiler/Driver/Float8Options.h"
#include "compiler/Driver/LossOptions.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/ParameterGroups.h"
#include "compiler/Driver/PassOptions.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/SmallOptions.h"
#include "compiler/Interpreter/Compare.h"
#include "compiler/Interpreter/Npy.h"
#include "compiler/Interpreter/RuleProof.h"
#include "compiler/Interpreter/SimulatedRanks.h"
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/Versions.h"
#include "passes/Analysis/Roles.h"
#include "passes/Contents/Contents.h"
#include "passes/Proof/EqualBlocks.h"
#include "passes/Proof/Passes.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Order/Versions.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace zc;

/// Operations, of which the interpreter does some 5e7 a second: of a proof
/// beside code generation, of one that a plan waits for, of one of minutes.
static constexpr double kMost = 2e7, kMostOfPlan = 5e8, kMostDeep = 1e10;
/// The same of an op whose rule is proven, which runs it some twenty times.
static constexpr double kMostOfRule = 1e5, kMostOfRuleOfPlan = 1e6,
                        kMostOfRuleDeep = 1e9;
/// Beyond the first one step is enough, beside code generation; with gradients
/// below the other nothing moves, and everything is equal.
static constexpr double kMostOfTwoSteps = 2e6, kLeastNorm = 1e-6;

std::vector<std::string> zc::listDivisions(ModuleOp module) {
  std::vector<std::string> divisions;
  llvm::StringSet<> seen; // roles may share a parameter
  // Vectors of ZeRO are divided because their members are.
  module.walk([&](train::StateOp state) {
    if (std::optional<StringRef> unit = state.getUnit())
      seen.insert(*unit);
  });
  module.walk([&](train::StateOp state) {
    auto sharding =
        state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    if (!sharding || state.getKind() != train::kParameter)
      return;
    std::string dims;
    bool isDivided = false;
    for (ArrayAttr axes : sharding.getDims()) {
      const bool byTp = llvm::is_contained(axes.getAsValueRange<StringAttr>(),
                                           StringRef(axes::kTensor));
      isDivided |= byTp;
      dims += dims.empty() ? "" : ",";
      dims += byTp ? axes::kTensor : "-";
    }
    if (isDivided && seen.insert(state.getSymName()).second)
      divisions.push_back((state.getSymName() + "=" + dims).str());
  });
  return divisions;
}

/// Only what trains is compared.
static void dropEvaluation(ModuleOp module) {
  SmallVector<func::FuncOp> evaluations;
  module.walk([&](func::FuncOp program) {
    if (program.getName() == train::kEvalProgram)
      evaluations.push_back(program);
  });
  for (func::FuncOp program : evaluations)
    program.erase();
}

/// Ranks take turns at collectives: none may be inside of a region.
static void openCollectives(ModuleOp module) {
  SmallVector<train::FusedOp> regions;
  module.walk([&](train::FusedOp region) {
    if (!region.getBody().getOps<dist::CollectiveOpInterface>().empty())
      regions.push_back(region);
  });
  for (train::FusedOp region : regions) {
    Block &body = region.getBody().front();
    for (auto [argument, input] :
         llvm::zip_equal(body.getArguments(), region.getInputs()))
      argument.replaceAllUsesWith(input);
    region.replaceAllUsesWith(body.getTerminator()->getOperands());
    body.getTerminator()->erase();
    region->getBlock()->getOperations().splice(region->getIterator(),
                                               body.getOperations());
    region->erase();
  }
}

/// The interpreter knows versions of a state by how old they are, and needs no
/// states for them.
static void joinVersions(ModuleOp module) {
  SmallVector<train::StateOp> versions;
  module.walk([&](train::StateOp state) {
    if (train::isVersionOfOther(state))
      versions.push_back(state);
  });
  for (train::StateOp version : versions) {
    auto parent = version->getParentOfType<ModuleOp>();
    (void)SymbolTable::replaceAllSymbolUses(
        version, version.getVersionOfAttr().getAttr(), parent);
    version.erase();
  }
}

/// For the interpreter. The phases of a proof do not verify what they make:
/// once is enough.
static LogicalResult makeRunnable(ModuleOp module) {
  openCollectives(module);
  joinVersions(module);
  return verify(module);
}

namespace {
class Proof {
public:
  Proof(OwningOpRef<ModuleOp> forward, const CompileOptions &options,
        std::vector<std::string> divisions)
      : forward(std::move(forward)), divided(makeSmallOptions(options)),
        whole(makeWholeOptions(divided)) {
    divided.dividesOnlyGiven = true;
    divided.shard = std::move(divisions);
    divided.tpRules = "auto";
  }

  ProofReport run() {
    ProofReport report = show();
    for (const std::string &file : temporary)
      llvm::sys::fs::remove(file);
    report.ranks = divided.getNumRanks();
    return report;
  }

private:
  ProofReport show() {
    if (failed(dropEqualLayers()) || failed(shrink()))
      return notShown("dims cannot be made small: " + error);
    if (!takeClassWeights())
      return notShown("its class weights do not fit small dims");
    // The forward is that of all ranks' micro-batches; the backward takes as
    // many operations again.
    if (tooMany(2 * countOperations(*forward) /
                double(divided.getNumRanks() * divided.accumulate))) {
      proveRules({*forward});
      return found;
    }
    if (!noteStages())
      return notShown("no temporary file can be made for its stages");
    OwningOpRef<ModuleOp> one, many;
    many = build(divided, divided.verify == "deep",
                 areBuiltAlike() ? &one : nullptr);
    if (many && !one)
      one = build(whole, /*fuses=*/false);
    if (!one || !many)
      return notShown("on small dims it does not compile: " + error);
    if (!proveRules({*one, *many}))
      return found;
    if (tooMany(countOperations(*many)))
      return found;
    compare(*one, *many, countSteps(*many, needsTwoSteps(*many) ? 2 : 1));
    if (found.outcome == ProofReport::Outcome::Equal &&
        many->lookupSymbol(train::kCompressedProgram))
      compareCompressed(*many);
    return found;
  }

  /// A sum over micro-batches that is not cleared shows in the next step alone.
  bool needsTwoSteps(ModuleOp many) {
    const bool isDeep = divided.verify == "deep";
    return countOperations(many) * divided.getNumRanks() <=
               (isDeep ? kMostDeep / 2 : kMostOfTwoSteps) &&
           (isDeep || divided.accumulate > 1);
  }

  double getMost() const {
    return divided.verify == "deep" ? kMostDeep
           : divided.plansOnly      ? kMostOfPlan
                                    : kMost;
  }

  /// Whether so many operations of one rank are too many for all; says so.
  bool tooMany(double operations) {
    const double needed = operations * double(divided.getNumRanks());
    if (needed > getMost())
      notShown(llvm::formatv("it would take {0:f0} million operations or more",
                             needed / 1e6));
    return needed > getMost();
  }

  /// Without flush, one rank reads versions as old as each stage does; it knows
  /// of stages by a file, where they are not all of one age.
  bool noteStages() {
    if (!isWithoutFlush(divided.schedule))
      return true;
    whole.schedule = divided.schedule;
    whole.verticalSync = divided.verticalSync;
    if (divided.schedule != "stash")
      return true;
    if (divided.stages == "auto") {
      Result<std::string> file = makeTemporaryFile("zc-verify", ".txt");
      if (!file.ok())
        return false;
      temporary.push_back(*file);
      divided.writeStages = *file;
    }
    whole.stages =
        divided.stages == "auto" ? divided.writeStages : divided.stages;
    return true;
  }

  /// The versions that late stages read differ once as many steps are done.
  static int64_t countSteps(ModuleOp many, int64_t steps) {
    int64_t delay = 0;
    many.walk([&](train::StateOp state) {
      delay = std::max(delay, train::getDelay(state));
    });
    return delay > 0 ? std::max(steps, delay + 2) : steps;
  }

  ProofReport notShown(std::string why) {
    found.outcome = ProofReport::Outcome::NotShown;
    found.why = std::move(why);
    return found;
  }

  bool writeClassWeights(std::vector<double> numbers) {
    Result<std::string> file = makeTemporaryFile("zc-verify", ".npy");
    if (!file.ok())
      return false;
    temporary.push_back(*file);
    divided.classWeights = whole.classWeights = *file;
    const int64_t count = int64_t(numbers.size());
    return !llvm::errorToBool(interpreter::writeNpy(
        *file, interpreter::Tensor::ofFloats({count}, std::move(numbers))));
  }

  /// Small dims have fewer classes: the first of them.
  bool takeClassWeights() {
    if (divided.classWeights.empty())
      return true;
    auto program = forward->lookupSymbol<func::FuncOp>(train::kForwardProgram);
    Result<std::vector<double>> numbers =
        readClassWeights(divided.classWeights);
    if (!program || !numbers.ok())
      return false;
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      auto name =
          program.getResultAttrOfType<StringAttr>(i, train::kOutputAttr);
      if (!name || (!divided.logits.empty() && name != divided.logits))
        continue;
      auto type = cast<RankedTensorType>(program.getResultTypes()[i]);
      const int64_t rank = type.getRank();
      const bool isLast =
          divided.loss == "bce-with-logits" || rank == 3 || rank < 2;
      int64_t axis = divided.classAxis.value_or(isLast ? rank - 1 : 1);
      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank ||
          type.getDimSize(axis) > int64_t(numbers->size()))
        return false;
      numbers->resize(size_t(type.getDimSize(axis)));
      return writeClassWeights(std::move(*numbers));
    }
    return false;
  }

  /// Proves the sharding rules of all ops of the first program, and of those
  /// that the next ones have in their places. False: one is wrong.
  bool proveRules(ArrayRef<ModuleOp> programs) {
    interpreter::RuleProver prover(/*seed=*/1);
    llvm::StringSet<> names;
    std::set<std::string> open;
    const double mostOfRule = divided.verify == "deep" ? kMostOfRuleDeep
                              : divided.plansOnly      ? kMostOfRuleOfPlan
                                                       : kMostOfRule;
    ScopedDiagnosticHandler silent(forward->getContext(),
                                   [](Diagnostic &) { return success(); });
    // The smallest of each kind stands for the others.
    auto proveAll = [&](ModuleOp module, bool isNewOnly) {
      std::vector<std::pair<double, Operation *>> ops;
      module.walk([&](Operation *op) {
        if (isa<ShardableOpInterface>(op) && isa<LinalgFormOpInterface>(op) &&
            !(isNewOnly && names.contains(op->getName().getStringRef())))
          ops.emplace_back(interpreter::countOperations(op), op);
      });
      llvm::stable_sort(ops, llvm::less_first());
      return llvm::all_of(ops, [&](const auto &each) {
        Operation *op = each.second;
        const StringRef name = op->getName().getStringRef();
        if (!isNewOnly)
          names.insert(name);
        const interpreter::RuleVerdict *verdict = prover.prove(op, mostOfRule);
        using Outcome = interpreter::RuleVerdict::Outcome;
        if (!verdict || verdict->outcome == Outcome::NotShown)
          open.insert(name.str());
        if (!verdict || verdict->outcome != Outcome::Wrong)
          return true;
        found.outcome = ProofReport::Outcome::Differs;
        found.why =
            llvm::formatv("how '{0}' is divided: {1}", name, verdict->why)
                .str();
        return false;
      });
    };
    bool isSound = true;
    for (ModuleOp program : programs)
      isSound = isSound && proveAll(program, program != programs.front());
    found.rules = prover.count(interpreter::RuleVerdict::Outcome::Holds);
    found.openRules.assign(open.begin(), open.end());
    return isSound;
  }

  /// Layers that are alike, divided alike and in one group of parameters stand
  /// for one another, but in a proof that may take minutes and where a file
  /// names them. Each stage has some.
  LogicalResult dropEqualLayers() {
    auto program = forward->lookupSymbol<func::FuncOp>(train::kForwardProgram);
    if (!program || divided.verify == "deep" || divided.stages != "auto")
      return success();
    ScopedDiagnosticHandler collect(
        forward->getContext(),
        [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
    if (failed(exemptFromDecay(*forward, divided.noWeightDecay)) ||
        failed(applyGroups(*forward, divided.groups)))
      return failure();
    // An expression may match none of the states that stay.
    for (CompileOptions *options : {&divided, &whole}) {
      options->noWeightDecay.clear();
      options->groups.clear();
    }
    found.equal = dropEqualBlocks(program, countLayersToKeep(), divided.shard);
    llvm::erase_if(divided.shard, [&](StringRef each) {
      return !forward->lookupSymbol(each.rsplit('=').first);
    });
    return success();
  }

  /// A first and a last one, of which each has one of its kind beside it; of
  /// each stage one.
  int64_t countLayersToKeep() const {
    constexpr int64_t kLeastLayers = 2;
    int64_t stages = divided.getAxisSize(axes::kRole);
    if (stages > 1)
      if (Result<PipelineSchedule> chosen = chooseSchedule(divided);
          chosen.ok())
        stages = int64_t(chosen->roleOfStage.size());
    return std::max(kLeastLayers, stages);
  }

  LogicalResult shrink() {
    ScopedDiagnosticHandler collect(
        forward->getContext(),
        [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
    PassManager manager(forward->getContext(), ModuleOp::getOperationName());
    ShrinkDimsPassOptions shrinking;
    llvm::append_range(shrinking.divisors, listDivisors(divided));
    if (divided.precision == "fp8")
      shrinking.batchDivisors.push_back(
          getFloat8Divisor(divided) * divided.accumulate *
          (divided.float8Scaling == "block" ? countSampleShares(divided) : 1));
    if (divided.accumulate > 1)
      shrinking.batchDivisors.push_back(countSampleShares(divided) *
                                        divided.accumulate);
    manager.addPass(createShrinkDimsPass(shrinking));
    return manager.run(*forward);
  }

  /// Whether both programs are the same until ranks divide one of them: the
  /// same passes with the same options build them.
  bool areBuiltAlike() {
    auto describe = [&](const CompileOptions &options) {
      std::string text;
      llvm::raw_string_ostream os(text);
      const PassOptions passes = getPassOptions(options);
      PassManager manager(forward->getContext(), ModuleOp::getOperationName());
      addStep(manager, passes);
      addPrograms(manager, passes);
      manager.printAsTextualPipeline(os);
      return text;
    };
    return divided.getAxisSize(axes::kRole) == 1 && divided.zero == 0 &&
           !isWithoutFlush(divided.schedule) &&
           describe(divided) == describe(whole);
  }

  /// `undivided`, where it is not null, becomes the program before ranks divide
  /// it.
  OwningOpRef<ModuleOp> build(const CompileOptions &options, bool fuses,
                              OwningOpRef<ModuleOp> *undivided = nullptr) {
    Phases phases(forward->clone(), options);
    const bool isBuilt = succeeded(phases.buildPrograms());
    if (isBuilt)
      dropEvaluation(phases.getModule());
    if (isBuilt && undivided)
      *undivided = phases.getModule().clone();
    if (!isBuilt || (undivided && failed(verify(**undivided))) ||
        failed(phases.divide()) || (fuses && failed(phases.fuse())) ||
        failed(makeRunnable(phases.getModule()))) {
      error = phases.getFirstError();
      return {};
    }
    return phases.takeModule();
  }

  /// The operations of one rank's programs.
  static double countOperations(ModuleOp module) {
    double count = 0;
    module.walk([&](Operation *op) {
      if (isa<CostOpInterface>(op) && op->getParentOfType<func::FuncOp>())
        count += interpreter::countOperations(op);
    });
    return count / double(getRoles(module).size());
  }

  void compare(ModuleOp one, ModuleOp many, int64_t steps) {
    ScopedDiagnosticHandler collect(
        forward->getContext(),
        [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
    interpreter::Interpreter interpreter(interpreter::Precision::Wide);
    auto comparison = interpreter::compareSteps(
        interpreter, one, many,
        {steps, std::min<int64_t>(divided.accumulate, 2)},
        interpreter::Tolerance(), /*seed=*/1);
    found.steps = steps;
    take(comparison);
  }

  void take(const FailureOr<interpreter::Comparison> &comparison) {
    if (failed(comparison) && interpreter::saysRanksDisagree(error)) {
      found.outcome = ProofReport::Outcome::Differs;
      found.why = "what several ranks hold: " + error;
    } else if (failed(comparison)) {
      notShown("the interpreter cannot run it: " + error);
    } else {
      judge(*comparison);
    }
  }

  /// Whether each rank with samples of its own has a term of every gradient,
  /// so that the first of them has all in the interpreter.
  bool areTerms(ModuleOp many) {
    dist::MeshAttr mesh = dist::getMesh(many);
    if (!mesh)
      return true;
    bool areAll = true;
    for (train::StateOp state : many.getOps<train::StateOp>()) {
      if (state.getKind() != train::kAccumulator)
        continue;
      auto sharding =
          state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
      for (StringRef axis : {axes::kSample, axes::kExpert})
        if (int at = mesh.findAxis(axis); at >= 0 && mesh.getSizes()[at] > 1)
          areAll &= sharding &&
                    llvm::any_of(sharding.getUnreduced(), [&](StringAttr each) {
                      return each.getValue() == axis;
                    });
    }
    return areAll;
  }

  /// A step behind the warm-up.
  void compareCompressed(ModuleOp many) {
    if (!areTerms(many))
      return (void)notShown("its compressed steps begin with gradients that "
                            "are summed already");
    Phases phases(forward->clone(), divided);
    if (failed(phases.buildPrograms())) {
      error = phases.getFirstError();
      return (void)notShown("its compressed steps do not compile: " + error);
    }
    OwningOpRef<ModuleOp> one = phases.takeModule();
    interpreter::simulateRanks(*one);
    ScopedDiagnosticHandler collect(
        forward->getContext(),
        [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
    interpreter::Interpreter interpreter(interpreter::Precision::Wide);
    take(interpreter::compareProgram(interpreter, *one, many,
                                     train::kCompressedProgram,
                                     interpreter::Tolerance(), /*seed=*/2));
    found.hasCompressed = true;
  }

  void judge(const interpreter::Comparison &comparison) {
    found.tensors += comparison.tensors;
    found.worst = std::max(found.worst, comparison.worst);
    if (!comparison.atFirst.empty())
      return differs(comparison.atFirst);
    if (2 * comparison.notNumbers > comparison.elements)
      return (void)notShown("random numbers make it NaN");
    if (10 * comparison.zeros > 9 * comparison.elements)
      return (void)notShown("random numbers leave nothing but zeros");
    if (comparison.gradientNorm && !(*comparison.gradientNorm > kLeastNorm))
      return (void)notShown(
          llvm::formatv("with random numbers gradients are {0:e1}",
                        *comparison.gradientNorm));
    if (comparison.beyond.empty() && comparison.isMostlyNoise())
      return (void)notShown(llvm::formatv(
          "rounding moves {0} of {1} tensors further than could "
          "be compared",
          comparison.noisy, comparison.noisy + comparison.tensors));
    if (comparison.beyond.empty() && !comparison.doubtful.empty())
      return (void)notShown(llvm::formatv(
          "'{0}' differs by {1:e1}, which may be rounding",
          comparison.doubtful.front().name, comparison.doubtful.front().error));
    found.outcome = ProofReport::Outcome::Equal;
    if (!comparison.beyond.empty())
      differs(comparison.beyond);
  }

  void differs(ArrayRef<interpreter::Difference> differences) {
    found.outcome = ProofReport::Outcome::Differs;
    for (const auto &each : differences.take_front(3))
      found.why +=
          llvm::formatv("{0}'{1}' by {2:e1}", found.why.empty() ? "" : ", ",
                        each.name, each.error);
    if (differences.size() > 3)
      found.why += " and " + std::to_string(differences.size() - 3) + " more";
  }

  OwningOpRef<ModuleOp> forward;
  CompileOptions divided, whole;
  std::string error;
  std::vector<std::string> temporary; // files
  ProofReport found;
};
} // namespace

ProofReport zc::proveDivision(OwningOpRef<ModuleOp> forward,
                              const CompileOptions &options,
                              std::vector<std::string> divisions) {
  return Proof(std::move(forward), options, std::move(divisions)).run();
}
