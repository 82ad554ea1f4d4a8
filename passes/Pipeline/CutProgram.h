//===- CutProgram.h - one program of a role becomes several -----*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_CUTPROGRAM_H
#define ZC_PASSES_PIPELINE_CUTPROGRAM_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Makes of a role's @micro, or @eval, the programs that its parts are (see
/// ProgramParts.h). What a part needs of an earlier one, and what is sent and
/// received, are states of kind flight; what follows from states alone each
/// part computes itself. Parts without ops are left out. Gives the number of
/// values that micro-batches keep, without messages.
llvm::FailureOr<unsigned> cutProgram(mlir::func::FuncOp program);

/// Makes flight states of the messages of a program that stays whole.
void bindMessages(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_CUTPROGRAM_H
