//===- TargetAttr.h - the machine that a module is for ----------*- C++ -*-===//
#ifndef ZC_DIALECTS_SCHED_TARGETATTR_H
#define ZC_DIALECTS_SCHED_TARGETATTR_H

#include "dialects/Sched/SchedDialect.h"

#define GET_ATTRDEF_CLASSES
#include "dialects/Sched/SchedAttrs.h.inc"

namespace zc::sched {

/// On a module, a TargetAttr; none: a CPU with the defaults of
/// #sched.target.
inline constexpr llvm::StringLiteral kTargetAttr = "sched.target";

// Devices.
inline constexpr llvm::StringLiteral kCpuDevice = "cpu";
inline constexpr llvm::StringLiteral kCudaDevice = "cuda";

/// The class of work of generated code (#sched.rate).
inline constexpr llvm::StringLiteral kKernelWork = "kernel";

} // namespace zc::sched

#endif // ZC_DIALECTS_SCHED_TARGETATTR_H
