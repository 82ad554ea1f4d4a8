//===- PlanCandidates.h - plans worth a look --------------------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_PLANCANDIDATES_H
#define ZC_PASSES_MEMORY_PLANCANDIDATES_H

#include "passes/Memory/Layers.h"

#include <vector>

namespace zc {

/// Which values the backward finds in memory, and what computing the others
/// again costs.
struct RecomputePlan {
  llvm::BitVector kept; // as StepAnalysis numbers values
  double seconds = 0;   // by the cost model
};

/// Makes plans for one program. All plans depend on the program alone, so that
/// choices under two budgets can be compared.
class PlanCandidates {
public:
  explicit PlanCandidates(const StepAnalysis &analysis);

  RecomputePlan keepAll() const;
  /// Keeps what crosses between `count` segments of about equal saved bytes,
  /// and all of the last one.
  RecomputePlan segments(unsigned count) const;
  /// Keeps what libraries compute, and the last layer.
  RecomputePlan selective() const;

  /// Plans from the quickest to the slowest; all there are where the saved
  /// values are few, else a family that spans from keepAll to the shortest
  /// segments.
  std::vector<RecomputePlan> all() const;

  /// Of the forward.
  unsigned numLayers() const { return layers.empty() ? 0 : layers.back() + 1; }

  /// Seconds of the whole forward.
  double forwardSeconds() const { return total; }

private:
  RecomputePlan make(llvm::BitVector kept) const;
  std::vector<RecomputePlan> subsets() const;
  std::vector<RecomputePlan> family() const;
  RecomputePlan dropCheapest(double part, bool keepLibrary) const;
  llvm::BitVector
  resultsOf(llvm::function_ref<bool(unsigned place)> isMeant) const;
  llvm::BitVector libraryResults() const;
  llvm::BitVector lastLayer() const;
  llvm::SmallVector<unsigned> getCuts(unsigned count) const;

  const StepAnalysis &analysis;
  llvm::SmallVector<unsigned> layers; // of the forward ops
  llvm::SmallVector<double> seconds;  // per forward op
  double total = 0;
};

} // namespace zc

#endif // ZC_PASSES_MEMORY_PLANCANDIDATES_H
