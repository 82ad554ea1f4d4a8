//===- SampleDims.h - where the samples are in a program --------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_SAMPLEDIMS_H
#define ZC_PASSES_AUTODIFF_SAMPLEDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace zc {

/// The dim of a value that counts samples, in `groups` of as many consecutive
/// samples each: a sample alone, or all frames of a video. Each group is
/// `inner` elements of the dim in a row.
struct SampleDim {
  int64_t dim;
  int64_t inner;
  int64_t groups;

  bool operator==(const SampleDim &other) const {
    return dim == other.dim && inner == other.inner && groups == other.groups;
  }

  /// Elements of the dim in a row that are all of the samples.
  int64_t size() const { return inner * groups; }
};

/// Where the dim of `from` that counts samples is when the elements are
/// reshaped to `to`, in the smallest groups that begin at an index of it; none
/// if no dim counts more than one group there. Groups are `inner` times what
/// follows them apart, in both shapes.
std::optional<SampleDim> reshapeSampleDim(SampleDim place,
                                          llvm::ArrayRef<int64_t> from,
                                          llvm::ArrayRef<int64_t> to);

/// The values of a program that depend on its samples, forwards from its
/// inputs.
struct SampleDims {
  /// How many samples there are; 0 where no input says.
  int64_t samples = 0;
  /// With their dim; none where the samples are not one dim of it any more.
  llvm::DenseMap<mlir::Value, std::optional<SampleDim>> places;
};

SampleDims findSampleDims(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_SAMPLEDIMS_H
