//===- Environment.h - values of a running program --------------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_ENVIRONMENT_H
#define ZC_COMPILER_INTERPRETER_ENVIRONMENT_H

#include "compiler/Interpreter/Machine.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace zc::interpreter {

/// The elements of a value, which no op changes; values that are views of one
/// another share them, as do both ends of a message.
using Elements = std::shared_ptr<std::vector<Slot>>;

/// The values that are known so far.
using Environment = llvm::DenseMap<mlir::Value, Elements>;

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_ENVIRONMENT_H
