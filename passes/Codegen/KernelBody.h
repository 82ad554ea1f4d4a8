//===- KernelBody.h - train ops on one block of buffers ---------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_KERNELBODY_H
#define ZC_PASSES_CODEGEN_KERNELBODY_H

#include "passes/Codegen/KernelSplit.h"

#include "mlir/IR/Builders.h"

namespace zc {

/// Emits linalg on buffers for `body`: `buffers` maps block arguments and
/// yielded values to memrefs of the block's local shapes. Chains of inlinable
/// ops become one linalg.generic; other ops contribute their own linalg form.
void buildKernelBody(mlir::OpBuilder &builder, mlir::Block &body,
                     const KernelSplit &split, mlir::ValueRange inputs,
                     mlir::ValueRange outputs);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_KERNELBODY_H
