//===- ValueCheck.h - nobody reads what is gone -----------------*- C++ -*-===//
#ifndef ZC_PASSES_ALLOCATION_VALUECHECK_H
#define ZC_PASSES_ALLOCATION_VALUECHECK_H

#include "dialects/Sched/SchedDialect.h"

namespace zc {

/// Proves that every buffer of a program is written before it is read, at most
/// once, and not read after another view of its root has been written.
llvm::LogicalResult checkValues(sched::ProgramOp program);

} // namespace zc

#endif // ZC_PASSES_ALLOCATION_VALUECHECK_H
