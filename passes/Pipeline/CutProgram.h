//===- CutProgram.h - one program of a role becomes several -----*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_CUTPROGRAM_H
#define ZC_PASSES_PIPELINE_CUTPROGRAM_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Cuts a role's @micro, or @eval, into the programs of its parts (see
/// ProgramParts.h). Values that one part needs from an earlier one, and
/// messages, become states of kind flight; values that depend on states alone
/// are computed by each part. Empty parts are left out. Returns the number of
/// values that micro-batches keep, without messages.
llvm::FailureOr<unsigned> cutProgram(mlir::func::FuncOp program);

/// Makes flight states of the messages of a program that stays whole.
void bindMessages(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_CUTPROGRAM_H
