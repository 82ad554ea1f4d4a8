//===- DimGroups.h - dims that a reshape merges or splits -------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_DIMGROUPS_H
#define ZC_DIALECTS_TRAIN_OPS_DIMGROUPS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace zc::train {

/// Consecutive dims of one shape with the elements of consecutive dims of
/// another.
struct DimGroup {
  llvm::SmallVector<int64_t> from, to;
  int64_t place = -1; // among the groups, in the order of the source
};

/// The smallest groups of two shapes of equally many elements, at least one.
llvm::SmallVector<DimGroup> groupDims(llvm::ArrayRef<int64_t> from,
                                      llvm::ArrayRef<int64_t> to);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_DIMGROUPS_H
