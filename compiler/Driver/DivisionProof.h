// Whether a divided program trains as the whole one does.
#ifndef ZC_COMPILER_DRIVER_DIVISIONPROOF_H
#define ZC_COMPILER_DRIVER_DIVISIONPROOF_H

#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace zc {

/// What came out of a proof.
struct ProofReport {
  enum class Outcome {
    Equal,
    Differs,
    NotShown, // and why
  };
  Outcome outcome = Outcome::NotShown;
  std::string why;     // in a sentence's part, of NotShown and Differs
  int64_t tensors = 0; // compared
  int64_t ranks = 0;
  double worst = 0; // of all tensors, relative to its largest element
};

/// How the parameters of a module are divided over tp, as --shard says it.
std::vector<std::string> listDivisions(mlir::ModuleOp module);

/// Compiles the forward of train ops twice on small dims (--zc-shrink-dims): as
/// `options` divide it, on a mesh of few ranks where theirs has many, and for
/// one rank without ZeRO; trains both in the interpreter, in double precision,
/// from the same random states and samples; compares all that they write. It
/// covers the passes that divide a program (tensor, sequence and expert
/// parallelism, ZeRO, stages, and the collectives between them); with --verify
/// deep also fusion, recomputation and what else is decided before values
/// become buffers.
///
/// `divisions`: of the user's program, which the small one takes over.
/// `operations`: not shown where it would take the interpreter more of them.
ProofReport proveDivision(mlir::OwningOpRef<mlir::ModuleOp> forward,
                          const CompileOptions &options,
                          std::vector<std::string> divisions,
                          double operations);

} // namespace zc

#endif
