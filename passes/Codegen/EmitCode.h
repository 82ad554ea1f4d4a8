//===- EmitCode.h - LLVM's back end ------------------------------*- C++
//-*-===//
#ifndef ZC_PASSES_CODEGEN_EMITCODE_H
#define ZC_PASSES_CODEGEN_EMITCODE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace zc {

/// LLVM's pipeline of a level for the machine.
void optimizeModule(
    llvm::Module &module, llvm::TargetMachine &machine,
    llvm::PipelineTuningOptions tuning = {},
    llvm::OptimizationLevel level = llvm::OptimizationLevel::O3);

/// The module as an object file or assembly; false if the machine's back end
/// cannot write that.
bool emitCode(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &code);

} // namespace zc

#endif // ZC_PASSES_CODEGEN_EMITCODE_H
