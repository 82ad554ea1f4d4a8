#include "compiler/Driver/HostCode.h"

#include "dialects/Sched/SchedDialect.h"
#include "dialects/Sched/TargetAttr.h"
#include "passes/Analysis/Roles.h"
#include "passes/Contents/Contents.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace zc;

FailureOr<OwningOpRef<ModuleOp>> zc::lowerHostKernels(ModuleOp module) {
  MLIRContext *context = module.getContext();
  OwningOpRef<ModuleOp> host;
  std::vector<std::pair<sched::KernelOp, sched::KernelOp>> kernels;
  for (ModuleOp role : getRoles(module))
    for (auto kernel : role.getOps<sched::KernelOp>()) {
      if (!kernel.getHost())
        continue;
      if (!host)
        host = ModuleOp::create(module.getLoc());
      OpBuilder builder = OpBuilder::atBlockEnd(host->getBody());
      auto clone = cast<sched::KernelOp>(builder.clone(*kernel));
      kernels.emplace_back(kernel, clone);
    }
  if (!host)
    return host;
  PassOptions options;
  options.target.device = sched::kCpuDevice.str();
  (*host)->setAttr(sched::kTargetAttr,
                   sched::TargetAttr::get(context, sched::kCpuDevice,
                                          /*threads=*/1, ArrayAttr(), "all",
                                          sched::MachineAttr()));
  PassManager manager(context, ModuleOp::getOperationName());
  addLlvm(manager, options);
  if (failed(manager.run(*host)))
    return failure();
  for (auto [kernel, lowered] : kernels) {
    kernel.setGridAttr(lowered.getGridAttr());
    kernel.setSymbolAttr(lowered.getSymbolAttr());
  }
  return host;
}
