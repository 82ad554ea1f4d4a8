// Whether a divided program trains as the whole one does.
#ifndef ZC_COMPILER_DRIVER_DIVISIONPROOF_H
#define ZC_COMPILER_DRIVER_DIVISIONPROOF_H

#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Proof/EqualBlocks.h"

#include <string>
#include <vector>

namespace zc {

/// The outcome of a proof.
struct ProofReport {
  enum class Outcome {
    Equal,
    Differs,
    NotShown, // and why
  };
  Outcome outcome = Outcome::NotShown;
  std::string why;            // in a sentence's part, of NotShown and Differs
  bool isLost = false;        // NotShown, as its process did not come to an end
  int64_t tensors = 0;        // compared
  int64_t steps = 0;          // that were trained
  bool hasCompressed = false; // and one that sends compressed momentum
  int64_t ranks = 0;
  EqualBlockCount equal; // left out: others that are alike stand for them
  int64_t rules = 0;     // kinds of ops whose sharding rule is proven
  /// Kinds of ops whose rule could not be, by their names.
  std::vector<std::string> openRules;
  double worst = 0; // of all tensors, relative to its largest element
};

/// How the parameters of a module are divided over tp, as --shard says it.
std::vector<std::string> listDivisions(mlir::ModuleOp module);

/// Compiles the forward of train ops twice on small dims (--zc-shrink-dims),
/// with few of its layers that are alike (--zc-drop-equal-blocks) unless the
/// proof is deep: as `options` divide it, on a mesh of few ranks where theirs
/// has many, and for one rank without ZeRO. Proves the sharding rule of each
/// kind of op (compiler/Interpreter/RuleProof.h). Trains both programs in the
/// interpreter, in double precision, for a step in the midst of a training:
/// from the same random samples and states, those of the optimizer included,
/// with some steps done; compares all that they write. Only a gradient's sum
/// over micro-batches that is not cleared needs a second step to show; there it
/// trains two, unless that is too many operations. Numbers of 16
/// bits are not rounded. Where steps behind a warm-up compress what ranks send,
/// compares such a step with the same of one rank that has the others' rows as
/// a dim of its tensors (SimulatedRanks.h). It covers the passes that divide a
/// program (tensor, sequence and expert parallelism, ZeRO, stages, and the
/// collectives between them); with --verify deep also fusion, recomputation and
/// what else is decided before values become buffers.
///
/// `divisions`: of the user's program, which the small one takes over.
ProofReport proveDivision(mlir::OwningOpRef<mlir::ModuleOp> forward,
                          const CompileOptions &options,
                          std::vector<std::string> divisions);

} // namespace zc

#endif
