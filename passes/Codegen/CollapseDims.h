//===- CollapseDims.h - long rows for elementwise kernels -------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_COLLAPSEDIMS_H
#define ZC_PASSES_CODEGEN_COLLAPSEDIMS_H

#include "mlir/IR/Block.h"

namespace zc {

/// Merges neighbouring dims of a kernel's body that it never tells apart, so
/// that the innermost loop is long: 2 x 3 x 4 elements added to others are 24
/// in a row. Changes the types of arguments and ops in place; buffers are
/// contiguous, so only their shapes change. Bodies other than elementwise ops,
/// splat constants, broadcasts of arguments and sums of rows are left alone;
/// with `anyLength`, which CPUs have, those of arguments put one behind another
/// are not. With it a single dim need not have divisors that make good blocks.
void collapseDims(mlir::Block &body, bool anyLength);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_COLLAPSEDIMS_H
