//===- CodegenPipeline.cpp ------------------------------------------------===//
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {

void buildKernelLoweringPipeline(OpPassManager &manager) {
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(createConvertLinalgToLoopsPass());
  function.addPass(memref::createFoldMemRefAliasOpsPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  function.addPass(createLoopInvariantCodeMotionPass());
  // Before LLVM sees them: scalar calls would keep loops from becoming vectors.
  function.addPass(createApproximateMathPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(math::createMathExpandOpsPass({{"roundeven"}}));
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  ConvertFuncToLLVMPassOptions bare;
  bare.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(bare));
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createAddEntryPointsPass());
}

void buildCodegenPipeline(OpPassManager &manager) {
  manager.addPass(createLowerKernelsPass());
  buildKernelLoweringPipeline(manager.nest<ModuleOp>());
}

void registerCodegenPipelines() {
  PassPipelineRegistration<>("zc-codegen-pipeline",
                             "compile every sched.kernel to the LLVM dialect",
                             buildCodegenPipeline);
  PassPipelineRegistration<>("zc-kernel-lowering-pipeline",
                             "lower a module of kernel functions to LLVM",
                             buildKernelLoweringPipeline);
}

} // namespace zc
