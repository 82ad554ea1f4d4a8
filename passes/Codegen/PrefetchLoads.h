//===- PrefetchLoads.h - loops ask for memory early -------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_PREFETCHLOADS_H
#define ZC_PASSES_CODEGEN_PREFETCHLOADS_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace zc {

/// In inner loops of long bodies, asks for what is read some iterations later.
/// A processor looks ahead by instructions: in a body of few it sees the loads
/// of many iterations, in one of many only the next ones', and its own
/// prefetching ends with each page.
void prefetchLoads(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_PREFETCHLOADS_H
