#include "compiler/Driver/CudaCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Analysis/Roles.h"
#include "passes/Codegen/Cuda/EmitPtx.h"
#include "passes/Codegen/Passes.h"

#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <future>

using namespace mlir;
using namespace zc;

/// Kernels of all roles of a pipeline are one module: their names differ, but
/// for what is declared alike.
static gpu::GPUModuleOp getKernels(ModuleOp module) {
  if (auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(kKernelModule))
    return kernels;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto all = gpu::GPUModuleOp::create(builder, module.getLoc(), kKernelModule);
  llvm::StringSet<> taken;
  for (ModuleOp role : getRoles(module)) {
    auto own = role.lookupSymbol<gpu::GPUModuleOp>(kKernelModule);
    if (!own || own == all)
      continue;
    for (Operation &op : llvm::make_early_inc_range(*own.getBody()))
      if (auto symbol = dyn_cast<SymbolOpInterface>(op);
          !symbol || taken.insert(symbol.getName()).second)
        op.moveBefore(all.getBody(), all.getBody()->end());
  }
  return all;
}

// The GPU that code needs, as runtime/Device/Cuda reads it: one of at least
// this version; machine code also needs one of its generation.
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
  auto ptx = emitPtx(getKernels(module), options.cudaPath, &llvmText);
  if (failed(ptx))
    return failure();
  return options.emit == Emit::Llvm ? llvmText : *ptx;
}

LogicalResult zc::emitCudaCode(ModuleOp module, const CompileOptions &options,
                               std::vector<CodeInput> &code) {
  gpu::GPUModuleOp kernels = getKernels(module);
  if (kernels.getOps<LLVM::LLVMFuncOp>().empty())
    return success();
  auto ptx = emitPtx(kernels, options.cudaPath);
  if (failed(ptx))
    return failure();
  code.push_back({kPtxArch.str(), {atLeast(kPtxArch)}, *ptx, "ptx"});
  std::string ptxas =
      options.cubins == "none" ? "" : findPtxas(options.cudaPath);
  if (ptxas.empty())
    return success();
  // A process each: for many kernels they take longer than all the rest.
  std::vector<std::string> archs = listArchs(options);
  std::vector<std::future<FailureOr<std::string>>> cubins;
  for (const std::string &arch : archs)
    cubins.push_back(std::async(std::launch::async, [&] {
      return assemblePtx(kernels, ptxas, *ptx, arch);
    }));
  bool isWhole = true;
  for (auto [arch, each] : llvm::zip(archs, cubins)) {
    auto cubin = each.get();
    isWhole &= succeeded(cubin);
    if (isWhole)
      code.push_back({arch, {atLeast(arch), arch}, *cubin, "cubin"});
  }
  return success(isWhole);
}
