// The phases of a compilation, one after another on one module.
#ifndef ZC_COMPILER_DRIVER_PHASES_H
#define ZC_COMPILER_DRIVER_PHASES_H

#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Options.h"
#include "compiler/Driver/PassOptions.h"
#include "compiler/Driver/PassTimes.h"
#include "compiler/Driver/ScheduleOptions.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Memory/MeasurePeak.h"
#include "passes/Pipeline/EqualRoles.h"

#include <functional>

namespace zc {

struct ModelImportOptions;

/// The threads that workspaces are planned for.
int64_t getPlannedThreads(const CompileOptions &options);

class Phases {
public:
  Phases(mlir::MLIRContext *context, const CompileOptions &options);
  /// Goes on from a module of train ops, and says nothing.
  Phases(mlir::OwningOpRef<mlir::ModuleOp> module,
         const CompileOptions &options);

  // In this order. Each has reported why it fails.
  mlir::LogicalResult importModel();
  mlir::LogicalResult convertToTrain();
  mlir::LogicalResult buildPrograms();
  mlir::LogicalResult divide(); // among the ranks of the mesh
  /// The part of schedule() behind which programs still compute on tensors.
  mlir::LogicalResult fuse();
  mlir::LogicalResult schedule();
  mlir::LogicalResult generateCode();

  mlir::ModuleOp getModule() { return *module; }
  mlir::OwningOpRef<mlir::ModuleOp> takeModule() { return std::move(module); }

  /// The value that --sequence-parallel stood for, once divided: "on",
  /// "on=kept", "off".
  const std::string &getSequenceParallel() const { return sequenceParallel; }

  PassTimes &getTimes() { return times; }

  /// The first error of silent phases that failed.
  const std::string &getFirstError() const { return printer.getFirstError(); }

  /// The schedule of a mesh with pp, once the programs are built.
  const PipelineSchedule &getPipeline() const { return pipeline; }

private:
  mlir::LogicalResult
  run(const char *phase,
      const std::function<void(mlir::OpPassManager &)> &build);
  mlir::LogicalResult
  runOn(mlir::ModuleOp target,
        const std::function<void(mlir::OpPassManager &)> &build);
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
  importOutputs(ModelImportOptions reading);
  mlir::LogicalResult checkLabels();
  mlir::LogicalResult checkBatch();
  mlir::LogicalResult addClassWeights(llvm::SmallVectorImpl<double> &weights);
  mlir::LogicalResult readRules(std::string &stages);
  mlir::LogicalResult makeSchedule(const CompileOptions &known);
  mlir::LogicalResult chooseDealtSchedule();
  mlir::LogicalResult cutIntoRoles();
  /// The passes behind fusion.
  mlir::LogicalResult scheduleFused(const RecomputePassOptions &recompute);
  /// Plans the roles of a pipeline so that each fits into the budget, from what
  /// fusion has left.
  mlir::LogicalResult fitRoles();
  /// The same of one role, for --zero 3: units stay gathered for a whole step
  /// where that fits with nothing computed again.
  mlir::LogicalResult fitGathers();
  bool mayKeepGathered() const;
  /// Resolves --sequence-parallel auto: the first way to keep residuals with
  /// which the memory budget is enough, beginning with the one that costs no
  /// time. Sums are sent a little quicker whole, so without a budget they are
  /// sent whole.
  std::string chooseSequenceParallel();
  bool fitsWithoutRecomputing(const std::string &sequenceParallel);
  /// How a role's units stay gathered; `Shared`: those of its stages in turn,
  /// in one place.
  enum class Gathered { Not, Shared, All };
  void keepGathered(mlir::ModuleOp role, int64_t microBatches,
                    Gathered room = Gathered::All);
  bool giveUpGathers(llvm::ArrayRef<Peak> peaks, std::vector<Gathered> &rooms);
  mlir::LogicalResult measureRoles(std::vector<Peak> &peaks);
  mlir::LogicalResult refuseRole(mlir::ModuleOp role, const Peak &peak);
  mlir::LogicalResult scheduleServer();
  void takeOutEqualRoles();
  mlir::LogicalResult drawWeights(onnx::GraphOp graph);
  mlir::LogicalResult checkInternally(const char *phase, bool succeeded,
                                      unsigned errorsBefore);

  mlir::MLIRContext *context;
  const CompileOptions &options;
  PassOptions passes; // of `options`, and of what is known by now
  DiagnosticPrinter printer;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  PipelineSchedule pipeline;
  EqualRoles equalRoles;
  std::string sequenceParallel;
  unsigned dumped = 0; // files of --dump-ir
  PassTimes times;
};

} // namespace zc

#endif
