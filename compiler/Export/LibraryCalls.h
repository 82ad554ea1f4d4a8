//===- LibraryCalls.h - calls as libraries take them ------------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_LIBRARYCALLS_H
#define ZC_COMPILER_EXPORT_LIBRARYCALLS_H

#include "compiler/Export/ProgramExport.h"

namespace zc {

/// Fills in the call, with those of the op's attributes that the room of its
/// kind (kernels/Calls) reads; fails for an op that no library of ours
/// computes, and for one with attributes that its room does not know.
Status exportLibraryCall(sched::LibraryCallOp op, const ProgramExport &program,
                         plan::LibraryCall &call);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_LIBRARYCALLS_H
