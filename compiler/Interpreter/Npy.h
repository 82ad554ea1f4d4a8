//===- Npy.h - NumPy's files of one array -----------------------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_NPY_H
#define ZC_COMPILER_INTERPRETER_NPY_H

#include "compiler/Interpreter/Tensor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace zc::interpreter {

/// Reads a file of floats (2, 4 or 8 bytes), integers (1 to 8 bytes) or
/// booleans in C order, little-endian. The error names the file and what is
/// wrong with it.
llvm::Expected<Tensor> readNpy(llvm::StringRef path);

/// Writes elements of `type` ("<f4", "|b1"), which are bytes already.
llvm::Error writeNpy(llvm::StringRef path, llvm::StringRef type,
                     llvm::ArrayRef<int64_t> shape, llvm::StringRef bytes);

/// Writes doubles or 64-bit integers.
llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_NPY_H
