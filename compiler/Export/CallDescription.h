//===- CallDescription.h - ops as library calls -----------------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_CALLDESCRIPTION_H
#define ZC_COMPILER_EXPORT_CALLDESCRIPTION_H

#include "kernels/Calls/Calls.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace zc {

/// The attributes in the dictionary that calls of the kind read.
std::vector<kernels::CallAttribute>
describeAttributes(mlir::DictionaryAttr attributes,
                   const kernels::CallKind &kind);

/// The kernel for a train op on tensors, or nothing if no library of ours
/// computes such ops.
std::optional<kernels::CallSpec> describeKernel(mlir::Operation *op);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_CALLDESCRIPTION_H
