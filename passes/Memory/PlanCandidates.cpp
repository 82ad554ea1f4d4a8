//===- PlanCandidates.cpp - plans worth a look ----------------------------===//
#include "passes/Memory/PlanCandidates.h"

#include "dialects/Train/Epilogue.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Scheduling/OffloadTimes.h"
#include "passes/Scheduling/TrainProgram.h"
#include "passes/Target/Target.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace zc::train;

namespace zc {

// So many plans are measured in seconds.
static constexpr double kExhaustivePlans = 512;
static constexpr unsigned kSteps = 8;         // of bytes dropped, of layers
static constexpr unsigned kSegmentCounts = 8; // tried at most
static constexpr unsigned kOffloadParts = 4;  // of saved activations

PlanCandidates::PlanCandidates(const StepAnalysis &analysis, OffloadRange range)
    : analysis(analysis), layers(findLayers(analysis)),
      range(std::move(range)) {
  const double launch = getTarget(analysis.getProgram()).rates().launchSeconds;
  for (FusedOp op : analysis.getForward()) {
    seconds.push_back(launch + estimateSeconds(op));
    total += seconds.back();
  }
  stepTotal = total;
  for (FusedOp op : analysis.getBackward())
    stepTotal += launch + estimateSeconds(op);
}

MemoryPlan PlanCandidates::make(llvm::BitVector kept) const {
  MemoryPlan plan;
  // The backward gathers these in any case, and recomputed ops read them.
  kept.reset(analysis.getGatheredAgain());
  analysis.settle(kept);
  llvm::BitVector again = analysis.getRecomputed(kept);
  for (unsigned place : again.set_bits())
    if (!analysis.findGatherAgain(analysis.getForward()[place]))
      plan.seconds += seconds[place];
  plan.kept = std::move(kept);
  plan.offload = range.asked;
  return plan;
}

MemoryPlan PlanCandidates::keepAll() const {
  return make(llvm::BitVector(analysis.numValues(), true));
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// Numbers of forward ops after which a new segment starts, at ends of layers,
/// so that segments save about equally many bytes.
SmallVector<unsigned> PlanCandidates::getCuts(unsigned count) const {
  SmallVector<int64_t> savedUntil; // per forward op, itself included
  int64_t bytes = 0;
  for (FusedOp op : analysis.getForward()) {
    for (Value result : op.getResults())
      if (analysis.getSaved().test(analysis.getIndex(result)))
        bytes += bytesOf(result);
    savedUntil.push_back(bytes);
  }
  SmallVector<unsigned> ends;
  for (unsigned place = 1; place < layers.size(); ++place)
    if (layers[place] != layers[place - 1])
      ends.push_back(place);
  SmallVector<unsigned> cuts;
  for (unsigned segment = 1; segment < count && !ends.empty(); ++segment) {
    double wanted = double(bytes) * segment / count;
    unsigned best = *std::min_element(
        ends.begin(), ends.end(), [&](unsigned a, unsigned b) {
          return std::abs(savedUntil[a - 1] - wanted) <
                 std::abs(savedUntil[b - 1] - wanted);
        });
    if (cuts.empty() || best > cuts.back())
      cuts.push_back(best);
  }
  return cuts;
}

MemoryPlan PlanCandidates::segments(unsigned count) const {
  SmallVector<unsigned> cuts = getCuts(count);
  llvm::BitVector kept(analysis.numValues());
  for (unsigned cut : cuts)
    kept |= analysis.getCrossing(cut);
  unsigned last = cuts.empty() ? 0 : cuts.back();
  kept |= resultsOf([&](unsigned place) { return place >= last; });
  return make(std::move(kept));
}

/// Keeps what enters each of the first `count` layers; of the others what
/// selective() keeps. Megatron-LM calls the former its block method.
MemoryPlan PlanCandidates::firstLayers(unsigned count) const {
  llvm::BitVector kept = libraryResults();
  kept |= lastLayer();
  llvm::BitVector dropped =
      resultsOf([&](unsigned place) { return layers[place] < count; });
  kept.reset(dropped);
  for (unsigned place = 1; place < layers.size(); ++place)
    if (layers[place] != layers[place - 1] && layers[place - 1] < count)
      kept |= analysis.getCrossing(place);
  return make(std::move(kept));
}

//===----------------------------------------------------------------------===//
// Single values
//===----------------------------------------------------------------------===//

/// The values of the forward ops at the places that are meant.
llvm::BitVector PlanCandidates::resultsOf(
    llvm::function_ref<bool(unsigned place)> isMeant) const {
  llvm::BitVector results(analysis.numValues());
  for (unsigned value = 0; value < analysis.numValues(); ++value)
    if (isMeant(analysis.getPlace(value)))
      results.set(value);
  return results;
}

/// Whether a call computes a norm: several ops, but no product with what
/// follows it. It takes the time of its memory traffic, with a library as
/// without.
static bool onlyMovesMemory(FusedOp op) {
  return op.getJoined() && !op.getJoined(kEpilogueKey);
}

llvm::BitVector PlanCandidates::libraryResults() const {
  return resultsOf([&](unsigned place) {
    FusedOp op = analysis.getForward()[place];
    return op.getLibrary().has_value() && !onlyMovesMemory(op);
  });
}

// The backward starts with the last layer: its values are needed at once, so
// that dropping them would save nothing.
llvm::BitVector PlanCandidates::lastLayer() const {
  return resultsOf(
      [&](unsigned place) { return layers[place] == layers.back(); });
}

MemoryPlan PlanCandidates::selective() const {
  llvm::BitVector kept = libraryResults();
  kept |= lastLayer();
  return make(std::move(kept));
}

/// Keeps all saved values but those that give the most bytes for their time,
/// `part` of all bytes.
MemoryPlan PlanCandidates::dropCheapest(double part, bool keepLibrary) const {
  SmallVector<std::pair<double, unsigned>> order;
  double bytes = 0;
  for (unsigned index : analysis.getSaved().set_bits()) {
    Value value = analysis.getValue(index);
    order.push_back({estimateSeconds(value.getDefiningOp<FusedOp>()) /
                         static_cast<double>(bytesOf(value)),
                     index});
    bytes += static_cast<double>(bytesOf(value));
  }
  llvm::sort(order);
  llvm::BitVector kept = analysis.getSaved();
  double dropped = 0;
  for (auto [score, index] : order) {
    if (dropped >= part * bytes)
      break;
    kept.reset(index);
    dropped += static_cast<double>(bytesOf(analysis.getValue(index)));
  }
  kept |= lastLayer();
  if (keepLibrary)
    kept |= libraryResults();
  return make(std::move(kept));
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

std::vector<MemoryPlan> PlanCandidates::subsets() const {
  SmallVector<unsigned> choices(analysis.getSaved().set_bits());
  std::vector<MemoryPlan> plans;
  for (unsigned subset = 0; subset < 1u << choices.size(); ++subset) {
    llvm::BitVector kept = analysis.getSaved();
    for (auto [bit, index] : llvm::enumerate(choices))
      if (subset >> bit & 1)
        kept.reset(index);
    plans.push_back(make(std::move(kept)));
  }
  return plans;
}

SmallVector<unsigned> PlanCandidates::segmentCounts() const {
  unsigned most = std::max(1u, numLayers());
  unsigned stride = std::max(1u, most / kSegmentCounts);
  SmallVector<unsigned> counts;
  for (unsigned count = 1; count < most; count += stride)
    counts.push_back(count);
  counts.push_back(most);
  return counts;
}

/// The first of those that keep the same values.
static std::vector<MemoryPlan> leaveOutEqual(std::vector<MemoryPlan> plans) {
  std::vector<MemoryPlan> different;
  for (MemoryPlan &plan : plans)
    if (llvm::none_of(different, [&](const MemoryPlan &other) {
          return other.kept == plan.kept;
        }))
      different.push_back(std::move(plan));
  return different;
}

std::vector<MemoryPlan> PlanCandidates::family() const {
  std::vector<MemoryPlan> plans = {keepAll(), selective()};
  for (unsigned step = 1; step <= kSteps; ++step)
    for (bool keepLibrary : {true, false})
      plans.push_back(dropCheapest(double(step) / kSteps, keepLibrary));
  for (unsigned count : segmentCounts()) {
    plans.push_back(segments(count));
    llvm::BitVector more = libraryResults();
    more |= plans.back().kept;
    plans.push_back(make(std::move(more)));
  }
  for (unsigned step = 1; step <= kSteps; ++step)
    plans.push_back(firstLayers(numLayers() * step / kSteps));
  return leaveOutEqual(std::move(plans));
}

//===----------------------------------------------------------------------===//
// Offloaded values
//===----------------------------------------------------------------------===//

/// How many micro-batches keep their values at once.
int64_t PlanCandidates::countUnderWay() const {
  Operation *role = analysis.getProgram()->getParentOp();
  auto inFlight = role->getAttrOfType<IntegerAttr>(kInFlightAttr);
  return inFlight && !role->hasAttr(kKeepWholeAttr) ? inFlight.getInt() : 1;
}

void PlanCandidates::addOffload(MemoryPlan &plan,
                                const OffloadChoice &choice) const {
  plan.offload = choice;
  plan.copySeconds = 0;
  if (range.any)
    countOffloaded(plan);
  if (choice.parameters && !choice.keepsBusy)
    plan.copySeconds += range.busy.seconds;
}

// Copies slow down the computation beside them; the step waits for copies that
// are longer than it. Where both directions run at once, only fetches count:
// there are at least as many of them.
void PlanCandidates::countOffloaded(MemoryPlan &plan) const {
  constexpr double kShare = 0.5;
  const OffloadChoice &choice = plan.offload;
  int64_t stored = 0, fetched = 0;
  auto add = [&](int64_t bytes, int64_t fetches, int64_t kept = 1) {
    plan.offloadedBytes += kept * bytes;
    stored += bytes;
    fetched += fetches * bytes;
  };
  if (choice.optimizer)
    add(range.any->optimizer, 1);
  // For the forward, the backward and the update.
  if (choice.parameters)
    add(range.any->parameters - (choice.keepsBusy ? range.busy.bytes : 0), 3);
  for (unsigned index : choice.values.set_bits())
    add(bytesOf(analysis.getValue(index)), 1, countUnderWay());
  if (fetched == 0)
    return;
  const Target &target = getTarget(analysis.getProgram());
  auto secondsOf = [&](int64_t bytes) {
    return estimateCopySeconds(target.rates(), bytes);
  };
  const double copying = secondsOf(stored + fetched);
  const double longest = target.runsBesideHost() ? secondsOf(fetched) : copying;
  plan.copySeconds =
      kShare * copying + std::max(0.0, longest - plan.seconds - stepTotal);
}

/// The choices of states to offload; where parameters are, with and
/// without those that steps begin with.
SmallVector<OffloadChoice> PlanCandidates::stateChoices() const {
  SmallVector<OffloadChoice> choices = {range.asked};
  auto addTo = [&](bool OffloadChoice::*part, bool value) {
    for (OffloadChoice choice : llvm::to_vector(choices)) {
      choice.*part = value;
      choices.push_back(choice);
    }
  };
  if (range.any && range.any->optimizer > 0)
    addTo(&OffloadChoice::optimizer, true);
  if (range.any && range.any->parameters > 0)
    addTo(&OffloadChoice::parameters, true);
  if (range.busy.bytes > 0)
    addTo(&OffloadChoice::keepsBusy, false);
  llvm::erase_if(choices, [](const OffloadChoice &choice) {
    return !choice.parameters && !choice.keepsBusy;
  });
  return choices;
}

/// Every choice of the saved activations: none, those made first (which lie
/// unread for the longest) up to a part of all bytes, and all.
SmallVector<llvm::BitVector>
PlanCandidates::valueChoices(const llvm::BitVector &kept,
                             bool everyValue) const {
  llvm::BitVector none(analysis.numValues());
  if (!range.any)
    return {none};
  llvm::BitVector read = analysis.getReadAgain(kept), all = read;
  for (unsigned index : read.set_bits())
    if (!isWorthOffloading(analysis.getValue(index)))
      all.reset(index);
  if (all.none())
    return {none};
  SmallVector<unsigned> indices(all.set_bits());
  if (!everyValue)
    return firstParts(indices);
  SmallVector<llvm::BitVector> choices;
  for (unsigned subset = 0; subset < 1u << indices.size(); ++subset) {
    choices.push_back(none);
    for (auto [bit, index] : llvm::enumerate(indices))
      if (subset >> bit & 1)
        choices.back().set(index);
  }
  return choices;
}

SmallVector<llvm::BitVector>
PlanCandidates::firstParts(ArrayRef<unsigned> indices) const {
  int64_t bytes = 0, sum = 0;
  for (unsigned index : indices)
    bytes += bytesOf(analysis.getValue(index));
  llvm::BitVector part(analysis.numValues());
  SmallVector<llvm::BitVector> parts = {part};
  for (unsigned index : indices) {
    part.set(index);
    sum += bytesOf(analysis.getValue(index));
    if (sum * kOffloadParts >= static_cast<int64_t>(parts.size()) * bytes)
      parts.push_back(part);
  }
  return parts;
}

std::vector<MemoryPlan>
PlanCandidates::withOffloads(const std::vector<MemoryPlan> &plans,
                             bool everyValue) const {
  std::vector<MemoryPlan> result;
  for (const MemoryPlan &plan : plans)
    for (const llvm::BitVector &values : valueChoices(plan.kept, everyValue))
      for (OffloadChoice choice : stateChoices()) {
        choice.values = values;
        result.push_back(plan);
        addOffload(result.back(), choice);
      }
  return result;
}

bool PlanCandidates::isExhaustive() const {
  double perValue = range.any ? 3 : 2;
  return double(stateChoices().size()) *
             std::pow(perValue, analysis.getSaved().count()) <=
         kExhaustivePlans;
}

static void sortByTime(std::vector<MemoryPlan> &plans) {
  llvm::stable_sort(plans, [](const MemoryPlan &a, const MemoryPlan &b) {
    return a.total() < b.total();
  });
}

std::vector<MemoryPlan>
PlanCandidates::offloading(const MemoryPlan &plan) const {
  std::vector<MemoryPlan> plans = withOffloads({plan}, /*everyValue=*/false);
  sortByTime(plans);
  return plans;
}

std::vector<MemoryPlan> PlanCandidates::all() const {
  std::vector<MemoryPlan> plans =
      withOffloads(isExhaustive() ? subsets() : family(), isExhaustive());
  sortByTime(plans);
  return plans;
}

} // namespace zc
