//===- Float8Ops.h - products of 8-bit floats -------------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_FLOAT8OPS_H
#define ZC_DIALECTS_TRAIN_FLOAT8OPS_H

#include "dialects/Train/TrainDialect.h"

#define GET_OP_CLASSES
#include "dialects/Train/Float8Ops.h.inc"

namespace zc::train {

/// On a train.matmul: the 8-bit types to which its factors are rounded, each as
/// a whole, before they are multiplied (array of two types). Its gradients'
/// products are marked alike: what is rounded to E5M2 is a gradient.
inline constexpr llvm::StringLiteral kFloat8Attr = "train.float8";

/// Whether elements are floats of 8 bits, which are a storage type only.
bool isFloat8(mlir::Type element);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_FLOAT8OPS_H
