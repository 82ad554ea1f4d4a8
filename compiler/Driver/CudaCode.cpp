#include "compiler/Driver/CudaCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Codegen/Cuda/EmitPtx.h"
#include "passes/Codegen/Passes.h"

#include <algorithm>

using namespace mlir;
using namespace zc;

static gpu::GPUModuleOp getKernels(ModuleOp module) {
  return module.lookupSymbol<gpu::GPUModuleOp>(kKernelModule);
}

// What code asks of a GPU, for runtime/Device/Cuda: at least this version, or
// for machine code besides one of its generation.
static std::string atLeast(StringRef arch) {
  return ("compute_" + arch.drop_front(3)).str();
}

static std::vector<std::string> listArchs(const CompileOptions &options) {
  std::vector<std::string> archs = {"sm_80", "sm_90", "sm_100"};
  if (!options.cudaArch.empty() && !llvm::is_contained(archs, options.cudaArch))
    archs.push_back(options.cudaArch);
  return archs;
}

FailureOr<std::string> zc::printCudaCode(ModuleOp module,
                                         const CompileOptions &options) {
  std::string llvmText;
  auto ptx = emitPtx(getKernels(module), &llvmText);
  if (failed(ptx))
    return failure();
  return options.emit == Emit::Llvm ? llvmText : *ptx;
}

LogicalResult zc::emitCudaCode(ModuleOp module, const CompileOptions &options,
                               std::vector<CodeInput> &code) {
  gpu::GPUModuleOp kernels = getKernels(module);
  if (kernels.getOps<LLVM::LLVMFuncOp>().empty())
    return success();
  auto ptx = emitPtx(kernels);
  if (failed(ptx))
    return failure();
  code.push_back({kPtxArch.str(), {atLeast(kPtxArch)}, *ptx, "ptx"});
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    return success();
  for (const std::string &arch : listArchs(options)) {
    auto cubin = assemblePtx(kernels, ptxas, *ptx, arch);
    if (failed(cubin))
      return failure();
    code.push_back({arch, {atLeast(arch), arch}, *cubin, "cubin"});
  }
  return success();
}
