//===- MaskedExperts.h - sums over all experts ------------------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_MASKEDEXPERTS_H
#define ZC_PASSES_IMPORT_MASKEDEXPERTS_H

#include "mlir/IR/BuiltinOps.h"

namespace zc {

/// Replaces sums of one term for each expert, of all tokens times a mask of
/// those that chose it, by the chosen rows alone: products become
/// train.grouped_matmul of the experts' stacked matrices. Returns how many sums
/// were replaced; the others, and what is then unused, stay as they are.
int64_t replaceMaskedExperts(mlir::ModuleOp module);

} // namespace zc

#endif // ZC_PASSES_IMPORT_MASKEDEXPERTS_H
