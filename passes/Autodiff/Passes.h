//===- Passes.h - from a forward graph to training programs -----*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_PASSES_H
#define ZC_PASSES_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <functional>
#include <memory>

namespace zc {

#define GEN_PASS_DECL
#include "passes/Autodiff/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Autodiff/Passes.h.inc"

/// The user's options for loss and optimizer.
struct AutodiffOptions {
  BuildLossPassOptions loss;
  BuildOptimizerStepPassOptions optimizer;
  /// With optimizer onebit-adam, which has numbers of its own above.
  std::vector<std::string> sampleAxes;
  /// Adds passes between the forward and its backward; may be empty.
  std::function<void(mlir::OpPassManager &)> shardParameters;
  /// Adds passes in front of the backward; may be empty.
  std::function<void(mlir::OpPassManager &)> applyPrecision;
  /// Adds passes that make a nested module of each role of a pipeline, on which
  /// what follows runs, or that say what one rank has to do as a pipeline; may
  /// be empty.
  std::function<void(mlir::OpPassManager &)> splitStages;
  /// Adds passes between gradients and what is made of them; may be empty.
  std::function<void(mlir::OpPassManager &)> packGradients;

  /// Whether a step is two programs, one that takes samples and one that ends
  /// it: with several micro-batches, or where steps end in two ways.
  bool splitsStep() const {
    return loss.accumulate > 1 || splitStages ||
           optimizer.optimizer == "onebit-adam";
  }
};

/// `@forward` to the forward of `@step` and `@eval`, on the whole model.
void buildLossPipeline(mlir::OpPassManager &manager,
                       const AutodiffOptions &options);

/// From there to all programs, on the model or on each role of a pipeline.
void buildStepPipeline(mlir::OpPassManager &manager,
                       const AutodiffOptions &options);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_PASSES_H
