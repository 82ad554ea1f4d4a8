//===- EmitCode.cpp - LLVM's back end -------------------------------------===//
#include "passes/Codegen/EmitCode.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/raw_ostream.h"

namespace zc {

void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    llvm::PipelineTuningOptions tuning,
                    llvm::OptimizationLevel level) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

bool emitCode(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &code) {
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager manager;
  if (machine.addPassesToEmitFile(manager, stream, nullptr, type))
    return false;
  manager.run(module);
  return true;
}

} // namespace zc
