//===- CallDescription.h - ops as library calls -----------------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_CALLDESCRIPTION_H
#define ZC_COMPILER_EXPORT_CALLDESCRIPTION_H

#include "kernels/Calls/Calls.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace zc {

/// The attributes in an op's dictionary that calls of the kind read.
std::vector<kernels::CallAttribute>
describeAttributes(mlir::DictionaryAttr attributes,
                   const kernels::CallKind &kind);

/// "attribute 'x' is unknown to calls of kind 'norm'", or of a form that no
/// call has; empty if the call says all that the op does. Names with a
/// dialect's prefix are marks for passes, but for dictionaries of what is
/// joined to the op.
std::string checkOpAttributes(mlir::DictionaryAttr attributes,
                              const kernels::CallKind &kind);

/// An op as a library call of its kind.
struct DescribedCall {
  const kernels::CallKind *kind;
  kernels::LibraryCall call;
};

/// The call for a train op on tensors, or of a sched.library_call, or nothing
/// if no library of ours computes such ops.
std::optional<DescribedCall> describeOp(mlir::Operation *op);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_CALLDESCRIPTION_H
