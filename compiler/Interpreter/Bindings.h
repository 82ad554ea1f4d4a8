//===- Bindings.h - a program's arguments and results by name ---*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_BINDINGS_H
#define ZC_COMPILER_INTERPRETER_BINDINGS_H

#include "compiler/Interpreter/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace zc::interpreter {

/// The input, state, output or metric that an argument or result is bound to;
/// "arg0" or "result0" if there is none. Names that a role of a pipeline does
/// not share with others begin with its number: "role1.arg0", "role1.unit.0".
std::string argumentName(mlir::func::FuncOp func, unsigned index);
std::string resultName(mlir::func::FuncOp func, unsigned index);

/// The range [low, high) of an integer argument's elements, for who draws them.
std::pair<int64_t, int64_t> integerRange(mlir::func::FuncOp func,
                                         unsigned index);

/// Fails, with a diagnostic, if a name of `given` is no argument's.
mlir::LogicalResult checkNames(llvm::ArrayRef<mlir::func::FuncOp> programs,
                               const llvm::StringMap<Tensor> &given);

/// The arguments of a program, or of its part in each role, by name: from
/// `given`; else a state's stored value; else, with a seed, random elements
/// (floats in [-1, 1), integers in the argument's range). Fails, with a
/// diagnostic, at arguments left without a value and where roles store other
/// values of one state.
llvm::FailureOr<llvm::StringMap<Tensor>>
bindArguments(llvm::ArrayRef<mlir::func::FuncOp> programs,
              llvm::StringMap<Tensor> given, std::optional<unsigned> seed);

/// The elements of a constant; nothing if they are not at hand.
std::optional<Tensor> tensorOf(mlir::ElementsAttr value);

/// "loss: f [] = 0.5", "logits: f [2, 2] = 1 2 3 4", "count: i [1] = 3".
void print(llvm::raw_ostream &os, llvm::StringRef name, const Tensor &tensor);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_BINDINGS_H
