//===- KernelParts.h - kernels that were joined -----------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_KERNELPARTS_H
#define ZC_PASSES_CODEGEN_CUDA_KERNELPARTS_H

#include "dialects/Sched/SchedDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc::cuda {

/// On the function of a kernel of several parts, which has no body: for each
/// part its `function`, another one of the module, and for each of its `copies`
/// the kernel's buffers that are the function's, inputs first.
inline constexpr llvm::StringLiteral kPartsAttr = "sched.parts";

/// A part of a kernel's body that shares no value with the others: what
/// --zc-join-launches put beside them.
struct KernelPart {
  /// A kernel of the part alone, in no module, named like the whole with a
  /// number behind it. Whoever has the part erases it.
  sched::KernelOp kernel;
  /// For every occurrence of it in the whole, the numbers of the whole's
  /// buffers, all inputs before all outputs, that are the part's.
  llvm::SmallVector<llvm::SmallVector<int32_t>> copies;
};

/// The parts of `kernel`, equal ones once, in the order of their inputs.
std::vector<KernelPart> splitKernel(sched::KernelOp kernel);

/// Adds to `module` the function of the whole: one after the other every copy
/// of every part has as many teams as its function, of as many threads as the
/// largest has. `functions`, of the parts, have their threads set. Returns the
/// number of teams.
int64_t declareJoined(sched::KernelOp kernel, llvm::ArrayRef<KernelPart> parts,
                      llvm::ArrayRef<mlir::func::FuncOp> functions,
                      mlir::ModuleOp module);

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_KERNELPARTS_H
