#include "compiler/Driver/DivisionProof.h"

#include "compiler/Driver/Phases.h"
#include "compiler/Interpreter/Compare.h"
#include "dialects/Interfaces/OpInterfaces.h"
#include "passes/Analysis/Roles.h"
#include "passes/Proof/Passes.h"
#include "runtime/Plan/Order/Versions.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace zc;

/// Ranks that take turns in the interpreter.
static constexpr int64_t kMostRanks = 16;
/// Below it nothing moves, and everything is equal.
static constexpr double kLeastNorm = 1e-6;

static ProofReport notShown(std::string why) {
  ProofReport report;
  report.why = std::move(why);
  return report;
}

/// A mesh whose axes stand for those of the user's: all of them, of at most
/// kMostRanks ranks. The stages of a pipeline stay.
static std::vector<MeshAxis> shrinkMesh(std::vector<MeshAxis> mesh) {
  auto count = [&] {
    int64_t ranks = 1;
    for (const MeshAxis &axis : mesh)
      ranks *= axis.size;
    return ranks;
  };
  while (count() > kMostRanks) {
    MeshAxis *largest = nullptr;
    for (MeshAxis &axis : mesh)
      if (axis.name != "pp" && axis.size > 2 &&
          (!largest || axis.size > largest->size))
        largest = &axis;
    if (!largest)
      return mesh;
    largest->size = largest->size % 2 ? 2 : largest->size / 2;
  }
  return mesh;
}

std::vector<std::string> zc::listDivisions(ModuleOp module) {
  std::vector<std::string> divisions;
  llvm::StringSet<> seen; // roles may share a parameter
  // Vectors of ZeRO are divided because their members are.
  module.walk([&](train::StateOp state) {
    if (auto unit = state->getAttrOfType<FlatSymbolRefAttr>(dist::kUnitAttr))
      seen.insert(unit.getValue());
  });
  module.walk([&](train::StateOp state) {
    auto sharding =
        state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    if (!sharding || state.getKind() != train::kParameter)
      return;
    std::string dims;
    bool isDivided = false;
    for (ArrayAttr axes : sharding.getDims()) {
      const bool byTp =
          llvm::any_of(axes.getAsRange<StringAttr>(),
                       [](StringAttr axis) { return axis.getValue() == "tp"; });
      isDivided |= byTp;
      dims += (dims.empty() ? "" : ",") + std::string(byTp ? "tp" : "-");
    }
    if (isDivided && seen.insert(state.getSymName()).second)
      divisions.push_back((state.getSymName() + "=" + dims).str());
  });
  return divisions;
}

/// What both programs have in common and small dims allow.
static CompileOptions makeSmall(CompileOptions options) {
  options.mesh = shrinkMesh(options.mesh);
  if (options.zeroGroup > 0)
    options.zeroGroup = std::min<int64_t>(options.zeroGroup, 2);
  options.batch = 0;
  options.precision = "fp32";
  options.reducePrecision = "fp32";
  options.classWeights.clear(); // of other classes
  options.writeStages.clear();
  options.memoryBudget = 0;
  options.dumpIr.clear();
  options.verbose = false;
  options.target = "cpu"; // nothing is made for it
  // A gradient that is 0 but for rounding makes a step as small.
  options.eps = std::max(options.eps, 1e-3);
  return options;
}

/// The same without what divides it.
static CompileOptions makeWhole(CompileOptions options) {
  const CompileOptions plain;
  options.mesh = plain.mesh;
  options.zero = plain.zero;
  options.zeroGroup = plain.zeroGroup;
  options.unit = plain.unit;
  options.bucketMib = plain.bucketMib;
  options.collectiveAlgorithm = plain.collectiveAlgorithm;
  options.reshardLast = plain.reshardLast;
  options.noReshardAfterForward = plain.noReshardAfterForward;
  options.reshardEvery = plain.reshardEvery;
  options.spAttention = plain.spAttention;
  options.tokenDims = plain.tokenDims;
  options.sequenceParallel = plain.sequenceParallel;
  options.schedule = plain.schedule;
  options.chunks = plain.chunks;
  options.stageReplicas = plain.stageReplicas;
  options.verticalSync = plain.verticalSync;
  options.stages = plain.stages;
  options.divideMessages = plain.divideMessages;
  options.tpRules = plain.tpRules;
  options.shard = plain.shard;
  return options;
}

/// What divides dims: each axis, and all that divide samples or ZeRO's units
/// together, with the micro-batches.
static std::vector<int64_t> listDivisors(const CompileOptions &options) {
  const int64_t samples = options.getAxisSize("dp") * options.getAxisSize("ep");
  std::vector<int64_t> divisors;
  for (int64_t each :
       {samples * options.accumulate, options.getAxisSize("tp"),
        options.getAxisSize("sp"), options.getAxisSize("ep"),
        options.getAxisSize("dp"), samples * options.getAxisSize("sp"),
        2 * options.getAxisSize("sp")})
    if (each > 1 && !llvm::is_contained(divisors, each))
      divisors.push_back(each);
  return divisors;
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

namespace {
class Proof {
public:
  Proof(OwningOpRef<ModuleOp> forward, const CompileOptions &options,
        std::vector<std::string> divisions, double operations)
      : forward(std::move(forward)), divided(makeSmall(options)),
        whole(makeWhole(divided)), operations(operations) {
    divided.dividesOnlyGiven = true;
    divided.shard = std::move(divisions);
    divided.tpRules = "auto";
  }

  ProofReport run() {
    ProofReport report = show();
    report.ranks = divided.getNumRanks();
    return report;
  }

private:
  ProofReport show() {
    if (divided.batchNormStats == "local")
      return notShown("each rank has batch statistics of its own");
    if (isWithoutFlush(divided.schedule))
      return notShown("steps of schedule " + divided.schedule +
                      " read older weights than one rank's do");
    if (computesInHalves())
      return notShown("it computes in 16 bits, whose rounding differs with the "
                      "order of sums");
    if (failed(shrink()))
      return notShown("dims cannot be made small: " + error);
    OwningOpRef<ModuleOp> one = build(whole, /*fuses=*/false);
    OwningOpRef<ModuleOp> many = build(divided, divided.verify == "deep");
    if (!one || !many)
      return notShown("on small dims it does not compile: " + error);
    const double needed = countOperations(*many) * divided.getNumRanks();
    if (needed > operations)
      return notShown(llvm::formatv("it would take {0:f0} million operations",
                                    needed / 1e6));
    return compare(*one, *many);
  }

  /// Of the model's own types, or by what a deep look at memory would see.
  bool computesInHalves() {
    const auto encodings = StringRef(divided.compressActivations);
    if (divided.verify == "deep" &&
        (encodings.contains("bf16") || encodings.contains("fp16")))
      return true;
    return forward
        ->walk([](Operation *op) {
          auto isHalf = [](Type type) {
            auto tensor = dyn_cast<RankedTensorType>(type);
            return tensor && isa<FloatType>(tensor.getElementType()) &&
                   tensor.getElementTypeBitWidth() == 16;
          };
          auto state = dyn_cast<train::StateOp>(op);
          return (state && isHalf(state.getTensorType())) ||
                         llvm::any_of(op->getResultTypes(), isHalf)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  LogicalResult shrink() {
    ScopedDiagnosticHandler collect(
        forward->getContext(),
        [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
    PassManager manager(forward->getContext(), ModuleOp::getOperationName());
    ShrinkDimsPassOptions shrinking;
    llvm::append_range(shrinking.divisors, listDivisors(divided));
    manager.addPass(createShrinkDimsPass(shrinking));
    return manager.run(*forward);
  }

  OwningOpRef<ModuleOp> build(const CompileOptions &options, bool fuses) {
    Phases phases(forward->clone(), options);
    if (failed(phases.buildPrograms()) || failed(phases.divide()) ||
        (fuses && failed(phases.fuse()))) {
      error = phases.getFirstError();
      return {};
    }
    openCollectives(phases.getModule());
    return phases.takeModule();
  }

  /// Of one rank's training programs.
  static double countOperations(ModuleOp module) {
    double count = 0;
    module.walk([&](Operation *op) {
      auto cost = dyn_cast<CostOpInterface>(op);
      auto program = op->getParentOfType<func::FuncOp>();
      if (!cost || !program || program.getName() == train::kEvalProgram)
        return;
      count += cost.getFlops();
      for (Value result : op->getResults())
        count += numElements(result.getType());
    });
    return count / double(getRoles(module).size());
  }

  ProofReport compare(ModuleOp one, ModuleOp many) {
    ScopedDiagnosticHandler collect(
        forward->getContext(),
        [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
    interpreter::Interpreter interpreter;
    auto found = interpreter::compareSteps(
        interpreter, one, many, {1, std::min<int64_t>(divided.accumulate, 2)},
        interpreter::Tolerance(), /*seed=*/1);
    ProofReport report;
    if (failed(found) && interpreter::saysRanksDisagree(error)) {
      report.outcome = ProofReport::Outcome::Differs;
      report.why = "what several ranks hold: " + error;
      return report;
    }
    if (failed(found))
      return notShown("the interpreter cannot run it: " + error);
    report.tensors = found->tensors;
    report.worst = found->worst;
    if (2 * found->notNumbers > found->elements)
      return notShown("random numbers make it NaN");
    if (10 * found->zeros > 9 * found->elements)
      return notShown("random numbers leave nothing but zeros");
    if (found->gradientNorm && !(*found->gradientNorm > kLeastNorm))
      return notShown(llvm::formatv("with random numbers gradients are {0:e1}",
                                    *found->gradientNorm));
    report.outcome = found->beyond.empty() ? ProofReport::Outcome::Equal
                                           : ProofReport::Outcome::Differs;
    for (const auto &each : ArrayRef(found->beyond).take_front(3))
      report.why +=
          llvm::formatv("{0}'{1}' by {2:e1}", report.why.empty() ? "" : ", ",
                        each.name, each.error)
              .str();
    if (found->beyond.size() > 3)
      report.why +=
          " and " + std::to_string(found->beyond.size() - 3) + " more";
    return report;
  }

  OwningOpRef<ModuleOp> forward;
  CompileOptions divided, whole;
  double operations;
  std::string error;
};
} // namespace

ProofReport zc::proveDivision(OwningOpRef<ModuleOp> forward,
                              const CompileOptions &options,
                              std::vector<std::string> divisions,
                              double operations) {
  return Proof(std::move(forward), options, std::move(divisions), operations)
      .run();
}
