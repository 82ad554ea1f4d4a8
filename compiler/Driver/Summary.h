// The summary that `zc compile` prints when it is done.
#ifndef ZC_COMPILER_DRIVER_SUMMARY_H
#define ZC_COMPILER_DRIVER_SUMMARY_H

#include "compiler/Driver/DivisionProof.h"
#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Plan/Order/Schedules.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zc {

struct Summary {
  uint64_t trainedTensors = 0;
  uint64_t trainedElements = 0;
  uint64_t tensors = 0; // initializers that could be trained, and are or not
  uint64_t elements = 0;
  /// The initializers that are not trained, but for running statistics:
  /// floating-point numbers that are no setting of a node.
  std::vector<std::string> untrained;
  /// Parameters that the loss does not read: they stay as they are, in the
  /// checkpoints, too.
  std::vector<std::string> unreached;
  /// Running means and variances of more than one element.
  std::vector<std::string> statistics;
  /// Tensors that programs compute with as the file has them.
  std::vector<std::string> frozen;
  uint64_t gradientStops = 0;  // values behind which no gradient flows
  uint64_t integerTensors = 0; // trained, but stored as integers
  int64_t batch = 0;           // samples a step; 0: no input counts samples
  int64_t recomputedOps = 0;
  double recomputedPart = 0;      // of the forward's time, by the cost model
  uint64_t stages = 0;            // of a pipeline
  std::vector<uint32_t> replicas; // roles of each; empty: one
  double imbalance = 0; // of a pipeline: the slowest role's time over the mean
  uint64_t drawnTensors = 0;      // whose values a run makes
  std::vector<std::string> notes; // on how tensors are divided
  uint64_t offloadedBytes = 0;
  uint64_t plannedBytes = 0;
  uint64_t artifactBytes = 0;
  std::optional<ProofReport> proof; // that ranks train as one does
};

/// Summarizes an imported model. The outputs that `losses` names train it;
/// without names the first one does.
Summary summarizeModel(mlir::ModuleOp module,
                       const std::vector<std::string> &losses = {});

/// The outputs that --logits, --loss-output and --add-loss name.
std::vector<std::string> listLosses(const CompileOptions &options);

/// Adds what passes/Memory and passes/Sharding decided.
void summarizeMemory(mlir::ModuleOp module, const PipelineSchedule &pipeline,
                     Summary &summary);

/// One line: what was shown, or why not.
void printProof(const ProofReport &report, llvm::raw_ostream &os);

void printSummary(const Summary &summary, const CompileOptions &options,
                  double seconds);

} // namespace zc

#endif
