//===- Tensor.h - a tensor of the interpreter -------------------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_TENSOR_H
#define ZC_COMPILER_INTERPRETER_TENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace zc::interpreter {

/// Elements in row-major order: doubles for every float type, 64-bit integers
/// for every integer type (0 and 1 for i1).
struct Tensor {
  enum class Kind { Float, Integer };

  static Tensor ofFloats(llvm::ArrayRef<int64_t> shape,
                         std::vector<double> elements) {
    Tensor tensor{Kind::Float, llvm::SmallVector<int64_t>(shape), {}, {}};
    tensor.floats = std::move(elements);
    return tensor;
  }
  static Tensor ofIntegers(llvm::ArrayRef<int64_t> shape,
                           std::vector<int64_t> elements) {
    Tensor tensor{Kind::Integer, llvm::SmallVector<int64_t>(shape), {}, {}};
    tensor.integers = std::move(elements);
    return tensor;
  }

  bool isFloat() const { return kind == Kind::Float; }
  size_t size() const { return isFloat() ? floats.size() : integers.size(); }

  Kind kind = Kind::Float;
  llvm::SmallVector<int64_t> shape;
  std::vector<double> floats;    // empty unless kind is Float
  std::vector<int64_t> integers; // empty unless kind is Integer
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_TENSOR_H
