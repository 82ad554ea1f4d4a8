//===- Ranks.h - one program on all ranks of a mesh -------------*- C++ -*-===//
//
// Simulated ranks take turns op by op; a collective waits for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_INTERPRETER_RANKS_H
#define ZC_COMPILER_INTERPRETER_RANKS_H

#include "compiler/Interpreter/Machine.h"
#include "compiler/Interpreter/Tensor.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc::interpreter {

/// How a whole tensor is divided. `state`: the one that it is the value of,
/// whose dims may consist of blocks; or null.
struct Division {
  dist::ShardingAttr sharding;
  train::StateOp state;
  /// A dim of which a rank has chunks r and 2 p - 1 - r of 2 p; -1: none.
  int64_t zigzagDim = -1;
};

/// How errors begin behind who it is that holds something else than another;
/// of a sound program nobody does.
inline constexpr llvm::StringLiteral kNotACopy =
    " holds other elements than the rank whose copy it should be";
inline constexpr llvm::StringLiteral kOtherThanRole = " gives another '";
inline constexpr llvm::StringLiteral kStaleCopy =
    "' is no copy of the weights that the last step has left";
inline constexpr llvm::StringLiteral kOtherInUnit = " roles hold other values";

/// Whether two tensors hold the same elements; two NaN are the same.
bool areAlike(const Tensor &a, const Tensor &b);

/// How much of a sum is the term of a rank of an axis: 3/4 and 1/4 of two, 1/2,
/// 3/8 and 1/8 of three, 1/2, 1/4, 3/16 and 1/16 of four. They add up to 1, are
/// powers of two or three times one, and no two are equal, so that what is not
/// linear in a sum shows in the terms.
double shareOfTerm(int64_t rank, int64_t ranks);

/// A rank's part of a whole tensor. If it is unreduced, a rank has its share of
/// the sum (shareOfTerm, of all axes together); of integers, the first rank
/// along each axis holds all, the others zeros.
Tensor takePart(const Tensor &whole, Division division, dist::MeshAttr mesh,
                int64_t rank);

/// The whole tensor from every rank's part. Fails where ranks that must hold
/// the same do not, naming two of them in `error`.
llvm::FailureOr<Tensor> joinParts(llvm::ArrayRef<Tensor> parts,
                                  llvm::ArrayRef<int64_t> shape,
                                  Division division, dist::MeshAttr mesh,
                                  std::string &error);

/// The type of the whole tensor behind an argument or a result.
mlir::RankedTensorType wholeArgumentType(mlir::func::FuncOp func,
                                         unsigned index);
mlir::RankedTensorType wholeResultType(mlir::func::FuncOp func, unsigned index);

/// How it is divided. `state`: the one that it is bound to, or null; to look up
/// each of many takes time.
Division argumentDivision(mlir::func::FuncOp func, unsigned index,
                          train::StateOp state);
Division resultDivision(mlir::func::FuncOp func, unsigned index,
                        train::StateOp state);

/// The axis on which the argument of a state holds the rank's coordinate, or
/// null.
mlir::StringAttr coordinateAxis(train::StateOp state);

/// The ranks of `rank`'s group along `axes`, in the order of their numbers.
llvm::SmallVector<int64_t> groupOf(int64_t rank, mlir::ArrayAttr axes,
                                   dist::MeshAttr mesh);

/// A collective in one group: the values that its ranks give and get.
mlir::LogicalResult exchange(dist::CollectiveOpInterface op,
                             llvm::ArrayRef<const std::vector<Slot> *> given,
                             llvm::MutableArrayRef<std::vector<Slot> *> taken);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_RANKS_H
