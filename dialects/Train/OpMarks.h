//===- OpMarks.h - facts that stand beside tensor ops -----------*- C++ -*-===//
//
// Until regions are formed, some facts stand beside the op that they are about,
// as marks: kGradientsAttr to kOfOtherRanksAttr of TrainDialect.h. Then they
// are properties of the region (ProgramOps.td), and schedules and reports go by
// them. A pass that puts one op in the place of another loses the marks unless
// it calls one of these functions.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_OPMARKS_H
#define ZC_DIALECTS_TRAIN_OPMARKS_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace zc::train {

/// Whether one of these marks stands on `op`, whose results then have
/// buffers of a class of their own.
bool hasOpMarks(mlir::Operation *op);
void removeOpMarks(mlir::Operation *op);

/// Whether mark `name` of the op that makes `value` lists it.
bool isListed(mlir::OpResult value, llvm::StringRef name);

/// Gives `to` the mark `name` of `from`, where that has it.
void copyMark(mlir::Operation *from, mlir::Operation *to, llvm::StringRef name);

/// Gives `to` all marks of `from`, also those of other dialects such as
/// shardings, and takes its own away.
void copyMarks(mlir::Operation *from, mlir::Operation *to);

/// Gives `to` those marks of `from`, also of other dialects, that it lacks.
void addMarks(mlir::Operation *from, mlir::Operation *to);

/// Gives `to` those of these marks that list no results.
void copyUnitMarks(mlir::Operation *from, mlir::Operation *to);

/// Gives `to`, which takes the place of `from`, these marks as far as they are
/// about `from`.
void copyResultMarks(mlir::OpResult from, mlir::OpResult to);

/// Does so for a `to` that is made of `from`, which keeps only the marks on
/// when ops run and whose tensors they read.
void moveResultMarks(mlir::OpResult from, mlir::OpResult to);

/// Puts `to` in the place of `from`, with the marks of its one result.
void replaceMarked(mlir::RewriterBase &rewriter, mlir::Operation *from,
                   mlir::Operation *to);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPMARKS_H
