//===- ProductTail.h - what a loop nest does to a product -------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_CUDA_PRODUCTTAIL_H
#define ZC_PASSES_FUSION_CUDA_PRODUCTTAIL_H

#include "dialects/Train/TrainDialect.h"

#include <optional>

namespace zc::cuda {

/// Ops of a loop nest that a library may compute behind a product that the nest
/// reads: last = activation(product + addend + bias). All values are of the
/// nest's body; a ReLU's gradient reads the auxiliary one's signs.
struct ProductTail {
  mlir::Value product;                 // the argument
  mlir::Value addend, bias, auxiliary; // arguments, or null
  mlir::Value before;                  // what the activation is of
  mlir::Value last;
  llvm::StringRef activation; // as the epilogue has it, or empty
  llvm::SmallVector<mlir::Operation *> ops;
  bool keepsBefore = false; // the nest also yields `before`
  bool isWhole = false;     // there are no other ops in the nest

  /// Whether the library leaves what the activation is of.
  bool writesAuxiliary() const { return keepsBefore && activation == "gelu"; }
  /// Whether the library needs bits where the nest has a matrix.
  bool readsSigns() const { return activation == "relu_grad"; }
};

/// The kinds of ops, besides sums, that may follow the product.
struct TailKinds {
  bool activations = true;
  bool reluBits = false; // a ReLU's gradient, which is an activation's too
};

/// The longest tail of `nest` behind `product`; nothing if there is none. An
/// activation whose operand is kept has rows of a multiple of 8 elements, as
/// cuBLASLt needs them.
std::optional<ProductTail>
findTail(train::FusedOp nest, mlir::BlockArgument product, TailKinds kinds);

} // namespace zc::cuda

#endif // ZC_PASSES_FUSION_CUDA_PRODUCTTAIL_H
