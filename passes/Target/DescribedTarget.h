//===- DescribedTarget.h - a device of a described machine ------*- C++ -*-===//
//
// A cluster file says how fast a machine is and how its ranks are joined. Its
// devices' libraries and kernels compute what they do on all such devices.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_TARGET_DESCRIBEDTARGET_H
#define ZC_PASSES_TARGET_DESCRIBEDTARGET_H

#include "passes/Target/Target.h"

namespace zc {

/// The rates of `#sched.machine`; what it does not say is as `usual` has it.
MachineRates readRates(sched::MachineAttr machine, const MachineRates &usual);
/// Its links, innermost first.
llvm::SmallVector<MachineLink> readLinks(sched::MachineAttr machine);

/// `Device` is a Target of that kind of device.
template <typename Device> class DescribedTarget : public Device {
public:
  DescribedTarget(sched::TargetAttr description, const TargetServices &services)
      : Device(description, services),
        machineRates(readRates(description.getMachine(), Device::rates())),
        machineLinks(readLinks(description.getMachine())) {}

  const MachineRates &rates() const override { return machineRates; }
  llvm::ArrayRef<MachineLink> links() const override { return machineLinks; }

  double collectiveSeconds(mlir::Operation *op) const override {
    return this->services.collectiveTime
               ? this->services.collectiveTime(this->description.getMachine(),
                                               op, this->devicesOf(op))
               : Device::collectiveSeconds(op);
  }

private:
  MachineRates machineRates;
  llvm::SmallVector<MachineLink> machineLinks;
};

} // namespace zc

#endif // ZC_PASSES_TARGET_DESCRIBEDTARGET_H
