//===- Roles.h - a program by the names of what it binds --------*- C++ -*-===//
//
// A module is one program set, or has one in each nested module of a pipeline's
// role. States, inputs and metrics are one tensor wherever they have one name.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_INTERPRETER_ROLES_H
#define ZC_COMPILER_INTERPRETER_ROLES_H

#include "compiler/Interpreter/Interpreter.h"
#include "llvm/ADT/StringMap.h"

namespace zc::interpreter {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// The function `name` of each role of a module, in their order, or of the
/// module itself if it has no roles; nothing if nobody has it. Fails, with a
/// diagnostic, if only some roles do or the roles do not fit the mesh.
llvm::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
findPrograms(mlir::ModuleOp module, llvm::StringRef name);

/// Runs programs from findPrograms() on all ranks of their mesh: whole tensors
/// in by their arguments' names, whole results out, in the results' order.
/// Messages are neither. An accumulator that several roles have is the sum of
/// what each has. Fails, with a diagnostic, where copies differ, of ranks or of
/// roles.
llvm::FailureOr<NamedTensors>
runPrograms(Interpreter &interpreter,
            llvm::ArrayRef<mlir::func::FuncOp> programs,
            const llvm::StringMap<Tensor> &values);

/// The same, where states that are not given have their stored values; nothing
/// if there are no programs. Fails, too, where an argument has no value.
llvm::FailureOr<NamedTensors>
bindAndRun(Interpreter &interpreter,
           llvm::ArrayRef<mlir::func::FuncOp> programs,
           llvm::StringMap<Tensor> given);

/// How many steps of training, of how many micro-batches each.
struct StepCount {
  int64_t steps;
  int64_t microBatches;
};

/// Trains with @micro and @apply, or with @step. Inputs hold the samples of all
/// micro-batches, one after another; a run that needs more begins again at the
/// first. States are what `given` has, else what the module stores, else what
/// @init makes. The states that the programs write and the last metrics, by
/// name. Fails, too, where the copies of parameters that the next step would
/// read are not what @copy makes of the parameters (Copies.h).
llvm::FailureOr<NamedTensors> runSteps(Interpreter &interpreter,
                                       mlir::ModuleOp module,
                                       const llvm::StringMap<Tensor> &given,
                                       StepCount count);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_ROLES_H
