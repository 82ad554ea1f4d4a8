//===- Contents.h - all passes in their order -------------------*- C++ -*-===//
//
// The table of contents of passes/: Contents.cpp lists every pass in the order
// in which a compilation runs it, and PassOptions has the options of all. The
// driver runs the phases one after another, on the model and then on each role
// of a pipeline; zc-opt has each as a pipeline of its own (`--zc-phase-step`)
// and all of them as `--zc-all-phases`.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_CONTENTS_CONTENTS_H
#define ZC_PASSES_CONTENTS_CONTENTS_H

#include "passes/Autodiff/Passes.h"
#include "passes/Collectives/Passes.h"
#include "passes/Experts/Passes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Precision/Float8Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sharding/Passes.h"
#include "passes/Target/Passes.h"

#include <optional>

namespace zc {

/// The options of all passes, as a user's options set them. A pass whose
/// options are optional is left out where there are none.
struct PassOptions {
  // addTrain
  ConvertOnnxToTrainPassOptions convert;

  // addStep
  AnnotateTargetPassOptions target;
  std::optional<DispatchExpertsPassOptions> experts;
  BuildLossPassOptions loss; // mode infer: there is no backward
  AnnotateMeshPassOptions mesh;
  std::optional<ShardParametersPassOptions> parameters;
  AddMastersPassOptions masters;
  std::optional<ApplyPrecisionPassOptions> precision;
  /// Products of 8-bit floats.
  struct Float8 {
    ApplyFloat8PassOptions apply;
    RoundFloat8PassOptions round; // addPrograms
  };
  std::optional<Float8> float8;
  /// How tokens are divided over ranks of sp.
  struct Tokens {
    ExchangeHalosPassOptions halos;
    MarkTokensPassOptions marks;
    OrderTokensPassOptions order;
    FindTokensPassOptions find; // addSharded
  };
  std::optional<Tokens> tokens;
  std::optional<AssignStagesPassOptions> stages;

  // addRoles
  std::optional<MarkDelaysPassOptions> delays; // without flush
  std::optional<SplitStagesPassOptions> roles;

  // addPrograms
  std::optional<ApplyZeroPassOptions> zero;
  /// Whether a step is two programs, one that takes samples and one that ends
  /// it: with several micro-batches, or where steps end in two ways.
  bool splitsStep = false;
  BuildOptimizerStepPassOptions optimizer;
  std::optional<BuildCompressedStepPassOptions> compressed;

  // addSharded
  std::optional<ChunkCrossEntropyPassOptions> divideClasses;
  std::optional<DivideResidualsPassOptions> residuals;
  bool dividesMessages = false; // over tp
  InsertCollectivesPassOptions collectives;
  JoinReductionsPassOptions joins;
  CutReductionsPassOptions cuts;
  bool hasServer = false; // the first rank along dp updates parameters
  bool explains = true;   // why values are divided as they are

  // addFused
  MatchEpiloguesPassOptions epilogues;

  // addMemory
  RecomputePassOptions recompute;
  std::optional<EncodeKeptPassOptions> encodings;

  // addInstructions
  OverlapCollectivesPassOptions overlap;
};

/// `onnx.graph` to `@forward`, simplified.
void addTrain(mlir::OpPassManager &manager, const PassOptions &options);

/// `@forward` to the forward of `@step` and `@eval`, on the whole model.
void addStep(mlir::OpPassManager &manager, const PassOptions &options);

/// A module for each role of a pipeline, on which the phases behind it run;
/// `options.roles` are of the schedule, which may depend on the stages.
void addRoles(mlir::OpPassManager &manager, const PassOptions &options);

/// From there to all programs of one rank, or of one role.
void addPrograms(mlir::OpPassManager &manager, const PassOptions &options);

/// Programs of one rank to programs of a rank of the mesh.
void addSharded(mlir::OpPassManager &manager, const PassOptions &options);

/// Layouts, regions, library calls: which values exist in memory.
void addFused(mlir::OpPassManager &manager, const PassOptions &options);

/// How a step may be planned from its max pools on, where options have
/// encodings.
PoolPlans planPools(const PassOptions &options);

/// Decides which values are kept for the backward, and how.
void addMemory(mlir::OpPassManager &manager, const PassOptions &options);

/// Programs of fused ops to instructions on buffers that have offsets.
void addInstructions(mlir::OpPassManager &manager, const PassOptions &options);

/// The first part of it: the order of fused ops.
void addOrder(mlir::OpPassManager &manager, const PassOptions &options);

/// Behind the order, modules for the roles of a parameter server and of its
/// workers, on which the rest runs.
void addServer(mlir::OpPassManager &manager, const PassOptions &options);

/// The rest: instructions and offsets, with a proof of these.
void addBuffers(mlir::OpPassManager &manager, const PassOptions &options);

/// Both, with a proof of the offsets.
void addSched(mlir::OpPassManager &manager, const PassOptions &options);

/// Kernels to functions of loops in the nested module @zc.kernels, on GPUs to
/// functions of threads.
void addKernels(mlir::OpPassManager &manager, const PassOptions &options);

/// Such a module, which `manager` runs on, to the LLVM dialect, but for entry
/// points.
void addKernelLowering(mlir::OpPassManager &manager);

/// The functions that the runtime calls, in modules of kernels in `manager`'s.
void addEntryPoints(mlir::OpPassManager &manager);

/// Kernels to the LLVM dialect, and NVVM's.
void addLlvm(mlir::OpPassManager &manager, const PassOptions &options);

/// Every phase, for a model that no pipeline cuts.
void addAllPhases(mlir::OpPassManager &manager, const PassOptions &options);

/// Registers all passes, and pipelines of code generation without options:
/// `--zc-codegen-pipeline`, `--zc-kernel-lowering-pipeline` (with entry points)
/// and `--zc-cuda-codegen-pipeline`.
void registerPasses();

} // namespace zc

#endif // ZC_PASSES_CONTENTS_CONTENTS_H
