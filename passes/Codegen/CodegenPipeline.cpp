//===- CodegenPipeline.cpp ------------------------------------------------===//
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Codegen/Passes.h"

using namespace mlir;

namespace zc {

/// Kernel functions of any target, from linalg to loops of scalars.
static void addLoopLowering(OpPassManager &function, bool foldViews,
                            bool expandBFloat16) {
  function.addPass(createConvertLinalgToLoopsPass());
  if (foldViews)
    function.addPass(memref::createFoldMemRefAliasOpsPass());
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  function.addPass(createLoopInvariantCodeMotionPass());
  // Before LLVM sees them: scalar calls would keep loops from becoming vectors.
  // The same polynomials on every target.
  ApproximateMathPassOptions math;
  math.expandBFloat16 = expandBFloat16;
  function.addPass(createApproximateMathPass(math));
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
}

/// Addresses as arithmetic, loops as branches.
static void addControlFlowLowering(OpPassManager &manager) {
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
}

void buildKernelLoweringPipeline(OpPassManager &manager) {
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(createCascadeSumsPass());
  function.addPass(createCopyRowsPass());
  addLoopLowering(function, /*foldViews=*/true, /*expandBFloat16=*/true);
  addControlFlowLowering(manager);
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
}

void buildCodegenPipeline(OpPassManager &manager) {
  manager.addPass(createLowerKernelsPass());
  buildKernelLoweringPipeline(manager.nest<ModuleOp>());
  manager.addPass(createShareCodePass());
  manager.addNestedPass<ModuleOp>(createAddEntryPointsPass());
}

void buildDeviceLoweringPipeline(OpPassManager &manager) {
  // Neighbours are read as one where their addresses differ by a number: a
  // block's own address stays one value. GPUs convert bfloat16 themselves.
  addLoopLowering(manager.nest<gpu::GPUFuncOp>(), /*foldViews=*/false,
                  /*expandBFloat16=*/false);
  addControlFlowLowering(manager);
  manager.addPass(createLowerDeviceMathPass());
  ConvertGpuOpsToNVVMOpsOptions bare;
  bare.useBarePtrCallConv = true;
  manager.addPass(createConvertGpuOpsToNVVMOps(bare));
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void buildCudaCodegenPipeline(OpPassManager &manager) {
  manager.addPass(createLowerKernelsPass());
  manager.addPass(createDistributeThreadsPass());
  buildDeviceLoweringPipeline(manager.nest<gpu::GPUModuleOp>());
}

void registerCodegenPipelines() {
  PassPipelineRegistration<>("zc-codegen-pipeline",
                             "compile every sched.kernel to the LLVM dialect",
                             buildCodegenPipeline);
  PassPipelineRegistration<>("zc-kernel-lowering-pipeline",
                             "lower a module of kernel functions to LLVM",
                             [](OpPassManager &manager) {
                               buildKernelLoweringPipeline(manager);
                               manager.addPass(createAddEntryPointsPass());
                             });
  PassPipelineRegistration<>("zc-cuda-codegen-pipeline",
                             "compile every sched.kernel to NVVM",
                             buildCudaCodegenPipeline);
}

} // namespace zc
