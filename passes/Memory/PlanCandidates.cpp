//===- PlanCandidates.cpp - plans worth a look ----------------------------===//
#include "passes/Memory/PlanCandidates.h"

#include "dialects/Sched/SchedDialect.h"
#include "passes/Scheduling/TrainProgram.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {

// 2^8 plans are measured in seconds.
static constexpr unsigned kExhaustiveValues = 8;
static constexpr unsigned kSteps = 8;         // of bytes dropped
static constexpr unsigned kSegmentCounts = 8; // tried at most

static int64_t bytesOf(Value value) {
  return sched::getByteSize(cast<ShapedType>(value.getType()));
}

PlanCandidates::PlanCandidates(const StepAnalysis &analysis)
    : analysis(analysis), layers(findLayers(analysis)) {
  for (FusedOp op : analysis.getForward()) {
    seconds.push_back(estimateSeconds(op));
    total += seconds.back();
  }
}

RecomputePlan PlanCandidates::make(llvm::BitVector kept) const {
  RecomputePlan plan;
  analysis.settle(kept);
  for (unsigned place : analysis.getRecomputed(kept).set_bits())
    plan.seconds += seconds[place];
  plan.kept = std::move(kept);
  return plan;
}

RecomputePlan PlanCandidates::keepAll() const {
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

RecomputePlan PlanCandidates::segments(unsigned count) const {
  SmallVector<unsigned> cuts = getCuts(count);
  llvm::BitVector kept(analysis.numValues());
  for (unsigned cut : cuts)
    kept |= analysis.getCrossing(cut);
  unsigned last = cuts.empty() ? 0 : cuts.back();
  kept |= resultsOf([&](unsigned place) { return place >= last; });
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

llvm::BitVector PlanCandidates::libraryResults() const {
  return resultsOf([&](unsigned place) {
    FusedOp op = analysis.getForward()[place];
    return op.getLibrary().has_value();
  });
}

// The backward starts with the last layer: what it computes is needed at once,
// so that dropping it would save nothing.
llvm::BitVector PlanCandidates::lastLayer() const {
  return resultsOf(
      [&](unsigned place) { return layers[place] == layers.back(); });
}

RecomputePlan PlanCandidates::selective() const {
  llvm::BitVector kept = libraryResults();
  kept |= lastLayer();
  return make(std::move(kept));
}

/// Keeps all saved values but those that give the most bytes for their time,
/// `part` of all bytes.
RecomputePlan PlanCandidates::dropCheapest(double part,
                                           bool keepLibrary) const {
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

std::vector<RecomputePlan> PlanCandidates::subsets() const {
  SmallVector<unsigned> choices(analysis.getSaved().set_bits());
  std::vector<RecomputePlan> plans;
  for (unsigned subset = 0; subset < 1u << choices.size(); ++subset) {
    llvm::BitVector kept = analysis.getSaved();
    for (auto [bit, index] : llvm::enumerate(choices))
      if (subset >> bit & 1)
        kept.reset(index);
    plans.push_back(make(std::move(kept)));
  }
  return plans;
}

std::vector<RecomputePlan> PlanCandidates::family() const {
  std::vector<RecomputePlan> plans = {keepAll(), selective()};
  for (unsigned step = 1; step <= kSteps; ++step)
    for (bool keepLibrary : {true, false})
      plans.push_back(dropCheapest(double(step) / kSteps, keepLibrary));
  unsigned stride = std::max(1u, numLayers() / kSegmentCounts);
  for (unsigned count = 2; count <= numLayers(); count += stride) {
    plans.push_back(segments(count));
    llvm::BitVector more = libraryResults();
    more |= plans.back().kept;
    plans.push_back(make(std::move(more)));
  }
  return plans;
}

std::vector<RecomputePlan> PlanCandidates::all() const {
  std::vector<RecomputePlan> plans =
      analysis.getSaved().count() <= kExhaustiveValues ? subsets() : family();
  llvm::stable_sort(plans, [](const RecomputePlan &a, const RecomputePlan &b) {
    return a.seconds < b.seconds;
  });
  return plans;
}

} // namespace zc
