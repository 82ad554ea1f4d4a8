//===- RecomputeTest.cpp --------------------------------------------------===//
//
// Budgets on small random networks, against every choice that there is.
//
//===----------------------------------------------------------------------===//
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Sched/TargetAttr.h"

#include "compiler/Driver/TargetServices.h"
#include "passes/Contents/Contents.h"
#include "passes/Memory/ApplyPlan.h"
#include "passes/Memory/MeasurePeak.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/PlanCandidates.h"
#include "passes/Scheduling/OffloadTimes.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/TrainProgram.h"
#include "passes/Target/Target.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;

namespace zc {
namespace {

/// The passes that say what a plan needs.
OpPassManager listRest() {
  OpPassManager rest(ModuleOp::getOperationName());
  addInstructions(rest, PassOptions());
  return rest;
}

/// A network of `layers` ops with a backward that reads some of the values, in
/// the text form of the train dialect.
std::string writeNetwork(unsigned layers, std::mt19937 &random,
                         bool hasMoments = false) {
  auto pick = [&](unsigned end) { return random() % end; };
  std::string program;
  auto pair = [&](const std::string &result, const std::string &a,
                  const std::string &b, const std::string &attributes) {
    program +=
        "  " + result + " = train.fused(" + a + ", " + b + ") " + attributes +
        ": (!t, !t) -> !t {\n  ^bb0(%x: !t, %y: !t):\n    %r = train.mul "
        "%x, %y : (!t, !t) -> !t\n    train.yield %r : !t\n  }\n";
  };
  for (unsigned i = 0; i < layers; ++i) {
    // Reads the layer before and any earlier one.
    std::string before = "%h" + std::to_string(i);
    std::string other = "%h" + std::to_string(pick(i + 1));
    pair("%h" + std::to_string(i + 1), before, other, "");
  }
  std::string gradient = "%h" + std::to_string(layers);
  for (unsigned i = layers; i-- > 0;) {
    std::string next = "%d" + std::to_string(i);
    pair(next, gradient, "%h" + std::to_string(i + pick(2)), "");
    gradient = next;
  }
  pair("%g", gradient, "%h0", "{gradients = array<i64: 0>} ");
  std::string last = "%h" + std::to_string(layers);
  if (hasMoments)
    for (std::string moment : {"%m", "%v"})
      pair(moment + "1", moment, "%g", "");
  std::string argument = hasMoments ? ", %m: !t {train.state = @m}, %v: !t "
                                      "{train.state = @v}"
                                    : "";
  std::string result =
      hasMoments ? ", !t {train.state = @m}, !t {train.state = @v}" : "";
  std::string values = hasMoments ? ", %m1, %v1 : !t, !t, !t, !t" : " : !t, !t";
  std::string states = hasMoments ? "train.state @m \"optimizer\" : !t\n"
                                    "train.state @v \"optimizer\" : !t\n"
                                  : "";
  return "!t = tensor<" + std::to_string(hasMoments ? 1024 : 256) +
         "xf32>\ntrain.state @w \"parameter\" : !t\n" + states +
         "func.func @step(%h0: !t {train.state = @w}" + argument +
         ") -> (!t {train.metric = \"loss\"}, !t {train.state = @w}" + result +
         ") {\n" + program + "  return " + last + ", %g" + values + "\n}\n";
}

/// A plan's peak and time.
struct Choice {
  int64_t peak;
  double seconds;
};

/// Budgets from `first` to `last`, `by` apart.
struct Budgets {
  int64_t first, last, by;
};

/// How long the forward ops take that run again if only `kept` is kept.
double secondsAgain(const StepAnalysis &analysis, const llvm::BitVector &kept) {
  double seconds = 0;
  const llvm::BitVector places = analysis.getRecomputed(kept);
  for (unsigned place : places.set_bits())
    seconds += estimateSeconds(analysis.getForward()[place]);
  return seconds;
}

/// Every part of what the backward reads, not only those that the pass tries.
std::vector<llvm::BitVector> listParts(const StepAnalysis &analysis) {
  const SmallVector<unsigned> saved(analysis.getSaved().set_bits());
  std::vector<llvm::BitVector> parts(1u << saved.size(), analysis.getSaved());
  for (unsigned subset = 0; subset < parts.size(); ++subset)
    for (auto [bit, index] : llvm::enumerate(saved))
      if (subset >> bit & 1)
        parts[subset].reset(index);
  return parts;
}

class RecomputeTest : public ::testing::Test {
protected:
  RecomputeTest() {
    DialectRegistry registry;
    registerTargets(registry, makeTargetServices());
    context.appendDialectRegistry(registry);
    context.loadDialect<func::FuncDialect, train::TrainDialect,
                        sched::SchedDialect, memref::MemRefDialect>();
    context.getDiagEngine().registerHandler([](Diagnostic &) {});
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(text, &context);
  }

  /// Runs the pass; its cost by the cost model, as a part of the forward's and
  /// in seconds of copies; none where nothing fits.
  std::optional<std::pair<double, double>>
  fit(ModuleOp module, int64_t budget, const std::string &offload = "") {
    RecomputePassOptions options;
    options.policy = "auto";
    options.budget = budget;
    options.offload = offload;
    PassManager manager(&context);
    manager.addPass(createRecomputePass(options, listRest()));
    if (failed(manager.run(module)))
      return std::nullopt;
    auto work = module->getAttrOfType<DenseF64ArrayAttr>(kRecomputedWorkAttr);
    return std::pair(work[1], work[2]);
  }

  /// The pass finds the quickest of all choices that fit each budget, to
  /// `within` seconds, and more memory never makes it slower. `check` is called
  /// with each plan and its seconds of copies.
  void checkBudgets(ModuleOp module, double forward,
                    const std::vector<Choice> &choices, Budgets budgets,
                    const std::string &offload, double within,
                    llvm::function_ref<void(ModuleOp, double)> check) {
    double previous = std::numeric_limits<double>::infinity();
    for (int64_t budget = budgets.first; budget <= budgets.last;
         budget += budgets.by) {
      std::optional<double> best;
      for (const Choice &choice : choices)
        if (choice.peak <= budget)
          best = std::min(best.value_or(choice.seconds), choice.seconds);
      OwningOpRef<ModuleOp> copy = module.clone();
      auto found = fit(*copy, budget, offload);
      ASSERT_EQ(found.has_value(), best.has_value()) << "budget " << budget;
      if (!found)
        continue;
      const double seconds = found->first * forward + found->second;
      EXPECT_NEAR(seconds, *best, within) << "budget " << budget;
      EXPECT_LE(seconds, previous);
      previous = seconds;
      check(*copy, found->second);
    }
  }

  /// By how much copies of `moved` bytes make a step longer.
  static double copySeconds(const MachineRates &rates, double recomputing,
                            double step, int64_t moved) {
    double copying = moved > 0 ? estimateCopySeconds(rates, moved) : 0;
    return 0.5 * copying + std::max(0.0, copying - recomputing - step);
  }

  MLIRContext context;
};

TEST_F(RecomputeTest, TakesTheQuickestPlanThatFits) {
  std::mt19937 random(7);
  for (unsigned network = 0; network < 6; ++network) {
    OwningOpRef<ModuleOp> module = parse(writeNetwork(3 + network % 4, random));
    ASSERT_TRUE(module);
    StepAnalysis analysis(findStep(*module));
    PlanCandidates candidates(analysis);
    ASSERT_TRUE(analysis.getSaved().any());
    std::vector<Choice> choices;
    for (const llvm::BitVector &kept : listParts(analysis)) {
      FailureOr<Peak> peak = measurePeak(*module, kept, {}, {}, listRest());
      ASSERT_TRUE(succeeded(peak));
      choices.push_back({peak->total(), secondsAgain(analysis, kept)});
    }
    checkBudgets(*module, candidates.forwardSeconds(), choices,
                 {2048, 16384, 1024}, "", 1e-15, [](ModuleOp plan, double) {
                   EXPECT_TRUE(succeeded(verify(plan)));
                 });
  }
}

// Every value kept, computed again or offloaded, and the parameter and the
// moments offloaded or not: the pass finds the quickest of all choices that
// fit.
TEST_F(RecomputeTest, ChoosesWhatToOffloadAsWell) {
  constexpr int64_t kBytes = 4096; // of each value and state
  std::mt19937 random(5);
  unsigned numOffloading = 0;
  for (unsigned network = 0; network < 4; ++network) {
    OwningOpRef<ModuleOp> module =
        parse(writeNetwork(3, random, /*hasMoments=*/true));
    ASSERT_TRUE(module);
    StepAnalysis analysis(findStep(*module));
    double step = 0;
    for (auto ops : {analysis.getForward(), analysis.getBackward()})
      for (train::FusedOp op : ops)
        step += estimateSeconds(op);
    SmallVector<unsigned> saved(analysis.getSaved().set_bits());
    unsigned numChoices = std::lround(std::pow(3, saved.size()));
    std::vector<Choice> choices;
    for (unsigned number = 0; number < 4 * numChoices; ++number) {
      llvm::BitVector kept = analysis.getSaved();
      OffloadChoice offload;
      offload.parameters = number % 2 == 1;
      offload.values.resize(analysis.numValues());
      offload.optimizer = number / 2 % 2 == 1;
      unsigned rest = number / 4;
      for (unsigned index : saved) {
        if (rest % 3 == 1)
          kept.reset(index);
        if (rest % 3 == 2)
          offload.values.set(index);
        rest /= 3;
      }
      const double again = secondsAgain(analysis, kept);
      FailureOr<Peak> peak =
          measurePeak(*module, kept, offload, {}, listRest());
      ASSERT_TRUE(succeeded(peak));
      int64_t moved = 2 * kBytes * offload.values.count() +
                      4 * kBytes * offload.parameters +
                      2 * 2 * kBytes * offload.optimizer;
      choices.push_back(
          {peak->total(), again + copySeconds(getTarget(*module).rates(), again,
                                              step, moved)});
    }
    checkBudgets(
        *module, PlanCandidates(analysis).forwardSeconds(), choices,
        {2 * kBytes, 10 * kBytes, kBytes}, "auto", 1e-12,
        [&](ModuleOp, double copying) { numOffloading += copying > 0; });
  }
  EXPECT_GT(numOffloading, 0u);
}

/// Copies of this GPU take as long as some kernels.
constexpr llvm::StringLiteral kGpu =
    "#sched.target<device = \"cuda\", machine = #sched.machine<name = \"g\", "
    "rates = [#sched.rate<work = \"kernel\", type = \"f32\", flops = 1.0e12>], "
    "bytes = 1.0e9, copy = 2.0e8, copy_seconds = 1.0e-6, host = 5.0e10, launch "
    "= 0.0, links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e9>], "
    "ways = [\"ring\"], axes = [\"dp\"], sizes = [4]>>";

// A parameter that steps begin with stays on a GPU, or leaves and makes the
// step wait for it. The pass finds the quickest plan that fits among all plans
// of both forms, also where to compute more again is quicker than to wait.
TEST_F(RecomputeTest, ChoosesWhetherBusyParametersStay) {
  std::mt19937 random(5);
  unsigned numStaying = 0, numAway = 0;
  for (unsigned network = 0; network < 4; ++network) {
    OwningOpRef<ModuleOp> module =
        parse(writeNetwork(3 + network, random, /*hasMoments=*/true));
    ASSERT_TRUE(module);
    (*module)->setAttr(sched::kTargetAttr, parseAttribute(kGpu, &context));
    StepAnalysis analysis(findStep(*module));
    auto measureForm = [&](const llvm::BitVector &kept, bool stays) {
      OffloadChoice offload;
      offload.parameters = true;
      offload.keepsBusy = stays;
      FailureOr<Peak> peak =
          measurePeak(*module, kept, offload, {}, listRest());
      EXPECT_TRUE(succeeded(peak));
      return *peak;
    };
    llvm::BitVector all(analysis.numValues(), true);
    const Peak staying = measureForm(all, true), away = measureForm(all, false);
    ASSERT_EQ(staying.staying, 4096);
    ASSERT_EQ(away.staying, 0);
    ASSERT_GT(away.waiting, staying.waiting);
    std::vector<Choice> choices;
    for (const llvm::BitVector &kept : listParts(analysis)) {
      const double again = secondsAgain(analysis, kept);
      for (bool stays : {true, false})
        choices.push_back(
            {measureForm(kept, stays).total(),
             again + (stays ? 0 : away.waiting - staying.waiting)});
    }
    checkBudgets(*module, PlanCandidates(analysis).forwardSeconds(), choices,
                 {8192, 65536, 1024}, "parameters", 1e-12,
                 [&](ModuleOp plan, double) {
                   ++(plan->hasAttr(kKeepsBusyAttr) ? numStaying : numAway);
                 });
  }
  EXPECT_GT(numStaying, 0u);
  EXPECT_GT(numAway, 0u);
}

// Plans without encodings keep all values whole, on every rank; others encode
// in the same way where memory is planned and where values are encoded.
TEST_F(RecomputeTest, PlansOfPoolsHaveOneEncoding) {
  PassOptions options;
  options.encodings.emplace();
  options.encodings->partition = options.recompute.partition = "tp";
  options.encodings->encodings = "bits,fp16";
  PoolPlans plans = planPools(options);
  auto print = [&](PoolPlan &plan) {
    std::pair<std::string, std::string> text;
    llvm::raw_string_ostream pools(text.first), rest(text.second);
    plan.pools.printAsTextualPipeline(pools);
    plan.rest.printAsTextualPipeline(rest);
    return text;
  };
  auto count = [](llvm::StringRef text, llvm::StringRef word) {
    return text.count(word);
  };
  auto [pools, rest] = print(plans.plain);
  EXPECT_EQ(count(pools, "always=false"), 1u) << pools;
  EXPECT_EQ(count(rest, "partition=tp"), 0u) << rest;
  EXPECT_EQ(count(rest, "encodings=none"), 2u) << rest;
  std::tie(pools, rest) = print(plans.exact);
  EXPECT_EQ(count(pools, "always=false"), 1u) << pools;
  EXPECT_EQ(count(rest, "partition=tp"), 2u) << rest;
  EXPECT_EQ(count(rest, "encodings=bits"), 2u) << rest;
  EXPECT_EQ(count(rest, "fp16"), 0u) << rest;
  std::tie(pools, rest) = print(plans.rounded);
  EXPECT_EQ(count(pools, "always=true"), 1u) << pools;
  EXPECT_EQ(count(rest, "partition=tp"), 2u) << rest;
  EXPECT_EQ(count(rest, "encodings=bits,fp16"), 2u) << rest;
}

// Too many choices to look at them all: still more memory never makes it
// slower, and two in five steps of the budget make it quicker.
TEST_F(RecomputeTest, LargeNetworksHaveAPlanForEveryBudget) {
  constexpr int64_t kBytes = 4096; // of each value and state
  std::mt19937 random(3);
  OwningOpRef<ModuleOp> module =
      parse(writeNetwork(64, random, /*hasMoments=*/true));
  double forward =
      PlanCandidates(StepAnalysis(findStep(*module))).forwardSeconds();
  double previous = std::numeric_limits<double>::infinity();
  unsigned numFitting = 0, numQuicker = 0;
  for (int64_t budget = 2 * kBytes; budget <= 90 * kBytes; budget += kBytes) {
    OwningOpRef<ModuleOp> copy = module->clone();
    auto found = fit(*copy, budget, "auto");
    if (!found)
      continue;
    double seconds = found->first * forward + found->second;
    EXPECT_LE(seconds, previous) << "budget " << budget;
    ++numFitting;
    numQuicker += seconds < previous;
    previous = seconds;
    if (seconds == 0)
      break;
  }
  EXPECT_EQ(previous, 0);
  EXPECT_GT(numQuicker * 5, numFitting * 2);
}

TEST_F(RecomputeTest, NothingRunsThreeTimes) {
  std::mt19937 random(11);
  for (unsigned network = 0; network < 20; ++network) {
    OwningOpRef<ModuleOp> module = parse(writeNetwork(12, random));
    func::FuncOp step = findStep(*module);
    StepAnalysis analysis(step);
    llvm::BitVector kept(analysis.numValues());
    for (unsigned value = 0; value < analysis.numValues(); ++value)
      if (random() % 3 == 0)
        kept.set(value);
    unsigned forward = analysis.getForward().size();
    unsigned expected = analysis.getRecomputed(kept).count();
    EXPECT_EQ(applyPlan(step, kept), expected);
    EXPECT_LE(expected, forward);
    EXPECT_TRUE(succeeded(verify(*module)));
  }
}

} // namespace
} // namespace zc
