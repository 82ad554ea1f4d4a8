//===- Bindings.h - a program's arguments and results by name ---*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_BINDINGS_H
#define ZC_COMPILER_INTERPRETER_BINDINGS_H

#include "compiler/Interpreter/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace zc::interpreter {

/// What an argument or result is bound to: its input, state, output or metric;
/// "arg0" or "result0" if it is not bound.
std::string argumentName(mlir::func::FuncOp func, unsigned index);
std::string resultName(mlir::func::FuncOp func, unsigned index);

/// The arguments of a program: what `given` has under their names; else a
/// state's stored value; else, with a seed, random elements (floats in [-1, 1),
/// integers in the argument's range). Fails, with a diagnostic, at a name that
/// is no argument's and at arguments left without a value.
llvm::FailureOr<std::vector<Tensor>>
bindArguments(mlir::func::FuncOp func, const llvm::StringMap<Tensor> &given,
              std::optional<unsigned> seed);

/// The elements of a constant; nothing if they are not at hand.
std::optional<Tensor> tensorOf(mlir::ElementsAttr value);

/// "loss: f [] = 0.5", "logits: f [2, 2] = 1 2 3 4", "count: i [1] = 3".
void print(llvm::raw_ostream &os, llvm::StringRef name, const Tensor &tensor);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_BINDINGS_H
