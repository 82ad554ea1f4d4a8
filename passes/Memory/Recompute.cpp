//===- Recompute.cpp - --zc-recompute -------------------------------------===//
//
// Between Fusion and Scheduling, so that what runs twice is whole kernels and
// library calls: the same bits come out. The phases that follow are asked what
// a plan needs, on a copy.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Notes.h"
#include "dialects/Dist/Server.h"
#include "dialects/Sched/SchedDialect.h"
#include "passes/Memory/ApplyPlan.h"
#include "passes/Memory/MeasurePeak.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/PlanCandidates.h"
#include "passes/Memory/Winograd.h"
#include "passes/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "passes/Memory/Passes.h.inc"

namespace {

struct RecomputePassImpl : impl::RecomputePassBase<RecomputePassImpl> {
  using RecomputePassBase::RecomputePassBase;
  RecomputePassImpl(const RecomputePassOptions &options,
                    const OpPassManager &rest)
      : RecomputePassBase(options), rest(rest) {}

  void runOnOperation() override {
    forget();
    isFree = offload == "auto";
    std::optional<OffloadChoice> parsed =
        isFree ? OffloadChoice() : parseOffload(offload);
    if (!parsed) {
      getOperation().emitError("cannot offload '")
          << offload
          << "'; expected auto, or optimizer, update, parameters, "
             "activations";
      return signalPassFailure();
    }
    choice = *parsed;
    encoding = {getOperation()->hasAttr(kExactEncodingsAttr)
                    ? withoutRounding(encodings)
                    : std::string(encodings),
                partition};
    std::string wrong;
    if (!parseEncodings(encodings, wrong)) {
      getOperation().emitError(wrong);
      return signalPassFailure();
    }
    func::FuncOp step = findStep(getOperation());
    if (!step)
      return checkWithoutBackward();
    fixSharedBuffers(step);
    if (failed(cutOffload(step)))
      return signalPassFailure();
    if (policy == "auto" && budget <= 0)
      policy = "none"; // fits anything
    if ((policy != "none" || budget > 0) && failed(recompute(step)))
      return signalPassFailure();
    markOffload(getOperation(), choice);
  }

private:
  /// Leaves out of the list what makes the peak higher: staging buffers may
  /// take more room than tensors that hardly any instruction needs at the peak.
  LogicalResult cutOffload(func::FuncOp step) {
    const OffloadChoice asked = choice;
    const std::vector<OffloadChoice> parts = listParts(asked);
    if (parts.empty())
      return success();
    StepAnalysis analysis(step);
    PlanCandidates candidates(analysis, {asked});
    FailureOr<MemoryPlan> plan = findQuickest(candidates);
    if (failed(plan))
      return failure();
    FailureOr<Peak> whole = measure(*plan);
    if (failed(whole))
      return failure();
    int64_t lowest = whole->total();
    for (const OffloadChoice &part : parts) {
      plan->offload = part;
      FailureOr<Peak> peak = measureAnew(*plan);
      if (failed(peak))
        return failure();
      if (peak->total() >= lowest)
        continue;
      lowest = peak->total();
      choice = part;
    }
    // Under a budget that the part does not meet, plans that compute more again
    // or move more states may need the whole list.
    if (lowest == whole->total() || (budget > 0 && lowest > budget)) {
      choice = asked;
      return success();
    }
    forget();
    dist::addNote(getOperation(),
                  "--offload leaves " + printLeftOut(asked, choice) +
                      " where they are: away, the plan would take " +
                      printBytes(whole->total() - lowest) + " more");
    return success();
  }

  /// The plan that is taken if it fits, or without a budget.
  FailureOr<MemoryPlan> findQuickest(const PlanCandidates &candidates) {
    if (policy == "auto")
      return candidates.keepAll();
    return follow(candidates);
  }

  LogicalResult recompute(func::FuncOp step) {
    StepAnalysis analysis(step);
    PlanCandidates candidates(analysis, listOffloads());
    FailureOr<BusyParameters> busy = measureBusy(candidates.keepAll());
    if (failed(busy))
      return failure();
    candidates.setBusy(*busy);
    FailureOr<MemoryPlan> quickest = findQuickest(candidates);
    if (failed(quickest))
      return failure();
    FailureOr<MemoryPlan> plan =
        chooseScratch(*quickest, [&] { return choose(candidates); });
    if (failed(plan))
      return failure();
    choice = plan->offload;
    unsigned clones = applyPlan(step, plan->kept);
    numRecomputed = clones;
    double part = candidates.forwardSeconds() > 0
                      ? plan->seconds / candidates.forwardSeconds()
                      : 0;
    getOperation()->setAttr(
        kRecomputedWorkAttr,
        Builder(&getContext())
            .getDenseF64ArrayAttr({double(clones), part, plan->copySeconds}));
    return success();
  }

  /// The tensors that plans may offload. Parameters that stay are not measured
  /// yet.
  OffloadRange listOffloads() {
    OffloadRange range{choice};
    if (isFree && budget > 0)
      range.any = countOffloadable(getOperation());
    return range;
  }

  /// The parameters that may stay on the device, by `plan` with and without
  /// them. A program's first instructions are the same in all plans.
  FailureOr<BusyParameters> measureBusy(MemoryPlan plan) {
    const bool mayStay = budget > 0 && (isFree || choice.parameters) &&
                         getTarget(getOperation()).runsBesideHost();
    if (!mayStay)
      return BusyParameters();
    plan.offload.parameters = true;
    FailureOr<Peak> near = measureAnew(plan);
    plan.offload.keepsBusy = false;
    FailureOr<Peak> far = measureAnew(plan);
    if (failed(near) || failed(far))
      return failure();
    const double longer =
        far->waiting - near->waiting +
        (far->waitingAtEnd - near->waitingAtEnd) / double(microBatches);
    return BusyParameters{near->staying, std::max(0.0, longer)};
  }

  /// There is nothing to choose.
  void checkWithoutBackward() {
    MemoryPlan plan;
    plan.offload = choice;
    auto choose = [&] { return fit({plan}, /*all=*/true); };
    if (budget > 0 && failed(chooseScratch(plan, choose)))
      signalPassFailure();
  }

  /// None where no plan fits; failure where none can be measured.
  using PlanThatFits = FailureOr<std::optional<MemoryPlan>>;

  /// Chooses a plan, and whether Winograd's way keeps its scratch memory. It
  /// gives it up where that alone makes `quickest` fit, or where no plan fits
  /// with it: else a convolution by another way would take twice as long in
  /// every pass, and something would run again all the same.
  FailureOr<MemoryPlan>
  chooseScratch(const MemoryPlan &quickest,
                llvm::function_ref<PlanThatFits()> choose) {
    WinogradScratch scratch(getOperation());
    const bool mayGiveUp = budget > 0 && !scratch.isEmpty();
    FailureOr<bool> helps = false;
    if (mayGiveUp)
      helps = fitsOnlyWithout(scratch, quickest);
    if (failed(helps))
      return failure();
    PlanThatFits plan = choose();
    if (succeeded(plan) && !*plan && mayGiveUp && !*helps) {
      giveUp(scratch);
      plan = choose();
    }
    if (succeeded(plan) && !*plan)
      plan = chooseWithFewerEncodings(choose);
    if (failed(plan))
      return failure();
    if (!*plan)
      return explain();
    return **plan;
  }

  /// --zc-encode-kept takes the part of the encodings whose plan is least,
  /// which all of them together need not be.
  PlanThatFits
  chooseWithFewerEncodings(llvm::function_ref<PlanThatFits()> choose) {
    if (least && least->persistent > budget) // no encoding helps
      return std::optional<MemoryPlan>();
    const auto seen = std::make_tuple(encoding, least, leastOffload);
    std::vector<EncodingChoice> parts = listParts(encoding);
    if (!parts.empty())
      parts.pop_back(); // all of them
    for (EncodingChoice &part : parts) {
      encoding = std::move(part);
      forget();
      PlanThatFits plan = choose();
      if (failed(plan) || *plan)
        return plan;
    }
    std::tie(encoding, least, leastOffload) = seen;
    return std::optional<MemoryPlan>();
  }

  /// Gives the scratch memory up if the plan fits without it and not with it.
  FailureOr<bool> fitsOnlyWithout(WinogradScratch &scratch,
                                  const MemoryPlan &plan) {
    FailureOr<Peak> with = measure(plan);
    if (failed(with))
      return failure();
    if (with->total() <= budget)
      return false;
    scratch.giveUp();
    FailureOr<Peak> without = measureAnew(plan);
    scratch.takeBack();
    if (failed(without))
      return failure();
    if (without->total() > budget)
      return false;
    giveUp(scratch);
    return true;
  }

  void giveUp(WinogradScratch &scratch) {
    scratch.giveUp();
    forget();
  }

  /// Peaks of another module, or of this one with its scratch memory, say
  /// nothing.
  void forget() { peaks.clear(); }

  PlanThatFits choose(const PlanCandidates &candidates) {
    if (policy == "auto")
      return fit(candidates.all(), candidates.isExhaustive());
    FailureOr<MemoryPlan> plan = follow(candidates);
    if (failed(plan))
      return failure();
    if (budget <= 0)
      return std::optional<MemoryPlan>(*plan);
    return fit(candidates.offloading(*plan), /*all=*/true);
  }

  /// The plan that the policy names.
  FailureOr<MemoryPlan> follow(const PlanCandidates &candidates) {
    unsigned layers = candidates.numLayers();
    if (policy == "none")
      return candidates.keepAll();
    if (policy == "layer")
      return candidates.segments(layers);
    if (policy == "sqrt")
      return candidates.segments(std::lround(std::sqrt(double(layers))));
    if (policy == "selective")
      return candidates.selective();
    if (policy == "full")
      return leastPeak(candidates);
    return getOperation().emitError("no policy is called '")
           << policy
           << "'; expected auto, none, layer, sqrt, selective or full";
  }

  FailureOr<MemoryPlan> leastPeak(const PlanCandidates &candidates) {
    std::optional<MemoryPlan> best;
    int64_t bestPeak = 0;
    for (unsigned count : candidates.segmentCounts()) {
      MemoryPlan plan = candidates.segments(count);
      FailureOr<Peak> peak = measure(plan);
      if (failed(peak))
        return failure();
      if (!best || peak->total() < bestPeak) {
        best = std::move(plan);
        bestPeak = peak->total();
      }
    }
    return *best;
  }

  /// Plans that differ in what they offload ask for their common base often.
  FailureOr<Peak> measure(const MemoryPlan &plan) {
    if (plan.offloadedBytes > 0)
      return measureAnew(plan);
    llvm::ArrayRef<uintptr_t> words = plan.kept.getData();
    std::vector<uintptr_t> key(words.begin(), words.end());
    key.push_back(plan.offload.parameters && plan.offload.keepsBusy);
    auto known = peaks.find(key);
    if (known != peaks.end())
      return known->second;
    FailureOr<Peak> peak = measureAnew(plan);
    if (succeeded(peak))
      peaks.emplace(std::move(key), *peak);
    return peak;
  }

  FailureOr<Peak> measureAnew(const MemoryPlan &plan) {
    return measurePeak(getOperation(), plan.kept, plan.offload, encoding, rest);
  }

  /// Whether a plan may need less than `bytes`: about what it would without
  /// offloading, less what it offloads, and a little, since what is left may
  /// pack better.
  FailureOr<bool> mayNeedLess(const MemoryPlan &plan, int64_t bytes) {
    MemoryPlan base;
    base.kept = plan.kept;
    FailureOr<Peak> peak = measure(base);
    if (failed(peak))
      return failure();
    return peak->total() - peak->transient / 16 - plan.offloadedBytes < bytes;
  }

  /// The first plan that fits: they come from the quickest to the slowest.
  /// Unless `all` must be measured, those that can hardly fit are measured
  /// only if no other does.
  PlanThatFits fit(const std::vector<MemoryPlan> &plans, bool all) {
    least.reset();
    std::vector<const MemoryPlan *> unlikely;
    for (const MemoryPlan &plan : plans) {
      FailureOr<bool> isLikely = true;
      if (!all && plan.offloadedBytes > 0)
        isLikely = mayNeedLess(plan, budget + 1);
      if (failed(isLikely))
        return failure();
      if (!*isLikely) {
        unlikely.push_back(&plan);
        continue;
      }
      FailureOr<bool> fits = tryPlan(plan);
      if (failed(fits))
        return failure();
      if (*fits)
        return std::optional<MemoryPlan>(plan);
    }
    for (const MemoryPlan *plan : unlikely) {
      if (!*mayNeedLess(*plan, least->total()))
        continue;
      FailureOr<bool> fits = tryPlan(*plan);
      if (failed(fits))
        return failure();
      if (*fits)
        return std::optional<MemoryPlan>(*plan);
    }
    return std::optional<MemoryPlan>();
  }

  /// Whether it fits; keeps the least that was seen.
  FailureOr<bool> tryPlan(const MemoryPlan &plan) {
    FailureOr<Peak> peak = measure(plan);
    if (failed(peak))
      return failure();
    if (!least || peak->total() < least->total()) {
      least = *peak;
      leastOffload = plan.offload;
    }
    return peak->total() <= budget;
  }

  LogicalResult explain() {
    std::string parts =
        printBytes(least->persistent) + " of it live from step to step, ";
    if (isRole())
      parts += printBytes(least->flight) + " are kept for micro-batches under "
                                           "way, ";
    parts += printBytes(least->transient) + " are values of " +
             least->ownerOfTransient(isRole() ? "one of them" : "one step");
    InFlightDiagnostic error = getOperation().emitError();
    if (auto role = getOperation()->getAttrOfType<IntegerAttr>(kRoleAttr))
      error << "role " << role.getInt() << " of the pipeline: ";
    return error << "no plan fits into " << printBytes(budget)
                 << ": the least is " << printBytes(least->total()) << ", "
                 << printBytes(least->total() - budget) << " too much; "
                 << parts
                 << "; what would help: " << llvm::join(whatHelps(), "; ");
  }

  bool isRole() { return getOperation()->hasAttr(kRoleAttr); }

  /// Nothing that the plan has already.
  SmallVector<std::string> whatHelps() {
    SmallVector<std::string> help;
    int64_t excess = least->total() - budget;
    if (least->transient + least->flight >= excess)
      help.push_back("a smaller batch or more micro-batches (--accumulate K)");
    if (policy != "auto")
      help.push_back("to leave the choice of what to recompute to zc (no "
                     "--recompute)");
    if (std::string parts = whatElseToOffload(leastOffload); !parts.empty())
      help.push_back("--offload " + parts);
    if (isRole())
      help.push_back("more stages (--mesh pp=N), or other ones (--stages "
                     "FILE)");
    const bool hasServer = getOperation()->hasAttr(dist::kServerAttr);
    if (hasServer)
      help.push_back("fewer bytes of parameters that are sent together (--unit "
                     "BYTES)");
    if (least->persistent >= excess)
      help.push_back(std::string("an optimizer with less state (sgd), frozen "
                                 "parameters (--freeze), or ") +
                     (hasServer ? "--zero in place of --aggregation server"
                                : "more ranks that divide them (--zero)"));
    if (help.empty())
      help.push_back("a smaller model or batch, or more ranks");
    return help;
  }

  /// Kinds of tensors that are large enough to offload and were not asked for.
  std::string whatElseToOffload(const OffloadChoice &offloaded) {
    if (isFree)
      return "";
    OffloadableBytes bytes = countOffloadable(getOperation());
    SmallVector<std::string> parts;
    if (offloaded.optimizer || bytes.optimizer > 0)
      parts.push_back("optimizer");
    if (offloaded.parameters || bytes.parameters > 0)
      parts.push_back("parameters");
    parts.push_back("activations");
    bool all = (offloaded.optimizer || bytes.optimizer == 0) &&
               (offloaded.parameters || bytes.parameters == 0) &&
               offloaded.activations;
    return all ? "" : llvm::join(parts, ",");
  }

  /// The passes up to offsets.
  OpPassManager rest{ModuleOp::getOperationName()};
  EncodingChoice encoding;
  OffloadChoice choice;      // what is asked for, or has been chosen
  bool isFree = false;       // to choose
  std::optional<Peak> least; // of the plans that fit() has measured
  OffloadChoice leastOffload;
  std::map<std::vector<uintptr_t>, Peak> peaks; // if nothing is offloaded
};

} // namespace

std::unique_ptr<Pass> createRecomputePass(const RecomputePassOptions &options,
                                          const OpPassManager &rest) {
  return std::make_unique<RecomputePassImpl>(options, rest);
}

} // namespace zc
