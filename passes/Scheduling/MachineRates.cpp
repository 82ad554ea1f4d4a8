//===- MachineRates.cpp ---------------------------------------------------===//
#include "passes/Scheduling/MachineRates.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace zc {

// Two AVX-512 cores: what oneDNN reaches, and what memory gives; a file in the
// system's cache, by one thread; ranks on one machine.
static constexpr MachineRates kCpu = {2e11, 2e10, 3e9, 2e-5, 2e9, 5e-5, 0};

// An H100 at two thirds of its peaks in bfloat16, HBM and PCIe 5, by NVIDIA's
// data sheets; NVLink by rings; kernels of one graph.
static constexpr MachineRates kGpu = {6e14, 2.2e12, 4e10, 1e-5,
                                      2e11, 2e-5,   2e-6};

static bool isGpu(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto target =
      module ? module->getAttrOfType<StringAttr>(kTargetAttr) : StringAttr();
  return target && target.getValue() == "cuda";
}

const MachineRates &ratesOf(Operation *op) { return isGpu(op) ? kGpu : kCpu; }

bool isFedAhead(Operation *op) { return isGpu(op); }

} // namespace zc
