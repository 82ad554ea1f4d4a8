//===- PlanCandidates.h - plans worth a look --------------------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_PLANCANDIDATES_H
#define ZC_PASSES_MEMORY_PLANCANDIDATES_H

#include "passes/Memory/Layers.h"
#include "passes/Memory/MarkOffload.h"

#include <optional>
#include <vector>

namespace zc {

/// The values that the backward finds in memory, those offloaded meanwhile, and
/// the cost of both by the cost model.
struct MemoryPlan {
  llvm::BitVector kept; // as StepAnalysis numbers values
  double seconds = 0;   // of what is computed again
  OffloadChoice offload = {};
  double copySeconds = 0; // by which copies make a step longer
  int64_t offloadedBytes = 0;

  double total() const { return seconds + copySeconds; }
};

/// Parameters that stay on the device though they are offloaded
/// (OffloadChoice::keepsBusy): their bytes, and by how many seconds a
/// micro-batch takes longer if they leave, too.
struct BusyParameters {
  int64_t bytes = 0;
  double seconds = 0;
};

/// The tensors that plans of one program may offload.
struct OffloadRange {
  /// All plans offload this; with `any`, each of them its own choice.
  OffloadChoice asked;
  std::optional<OffloadableBytes> any = std::nullopt;
  BusyParameters busy = {};
};

/// Makes plans for one program. All plans depend on the program and the range
/// alone, so that choices under two budgets can be compared.
class PlanCandidates {
public:
  explicit PlanCandidates(const StepAnalysis &analysis,
                          OffloadRange range = {});

  /// Plans made from now on count with these.
  void setBusy(const BusyParameters &busy) { range.busy = busy; }

  MemoryPlan keepAll() const;
  /// Keeps what crosses between `count` segments of about equal saved bytes,
  /// and all of the last one.
  MemoryPlan segments(unsigned count) const;
  /// Keeps what libraries compute, and the last layer.
  MemoryPlan selective() const;

  /// Plans from the quickest to the slowest; all there are where the saved
  /// values are few, else a family that spans from keepAll to the shortest
  /// segments, and from nothing offloaded to all.
  std::vector<MemoryPlan> all() const;

  /// `plan` with every choice of what is offloaded, from the quickest to the
  /// slowest.
  std::vector<MemoryPlan> offloading(const MemoryPlan &plan) const;

  /// The numbers of segments that are worth a look: all from 1 to the layers,
  /// or some of them where they are many.
  llvm::SmallVector<unsigned> segmentCounts() const;

  /// Whether all() has all plans that there are.
  bool isExhaustive() const;

  /// Layers of the forward.
  unsigned numLayers() const { return layers.empty() ? 0 : layers.back() + 1; }

  /// Seconds of the whole forward.
  double forwardSeconds() const { return total; }

private:
  MemoryPlan make(llvm::BitVector kept) const;
  std::vector<MemoryPlan> withOffloads(const std::vector<MemoryPlan> &plans,
                                       bool everyValue) const;
  void addOffload(MemoryPlan &plan, const OffloadChoice &choice) const;
  void countOffloaded(MemoryPlan &plan) const;
  int64_t countUnderWay() const;
  llvm::SmallVector<llvm::BitVector> valueChoices(const llvm::BitVector &kept,
                                                  bool everyValue) const;
  llvm::SmallVector<OffloadChoice> stateChoices() const;
  llvm::SmallVector<llvm::BitVector>
  firstParts(llvm::ArrayRef<unsigned> indices) const;
  std::vector<MemoryPlan> subsets() const;
  std::vector<MemoryPlan> family() const;
  MemoryPlan firstLayers(unsigned count) const;
  MemoryPlan dropCheapest(double part, bool keepLibrary) const;
  llvm::BitVector
  resultsOf(llvm::function_ref<bool(unsigned place)> isMeant) const;
  llvm::BitVector libraryResults() const;
  llvm::BitVector lastLayer() const;
  llvm::SmallVector<unsigned> getCuts(unsigned count) const;

  const StepAnalysis &analysis;
  llvm::SmallVector<unsigned> layers; // of the forward ops
  llvm::SmallVector<double> seconds;  // per forward op
  double total = 0;
  double stepTotal = 0; // with the backward
  OffloadRange range;
};

} // namespace zc

#endif // ZC_PASSES_MEMORY_PLANCANDIDATES_H
