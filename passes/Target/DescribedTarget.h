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

/// The rates and the links of `#sched.machine`.
MachineRates readRates(sched::MachineAttr machine);
llvm::SmallVector<MachineLink> readLinks(sched::MachineAttr machine);

/// `Device` is a Target of that kind of device.
template <typename Device> class DescribedTarget : public Device {
public:
  DescribedTarget(sched::TargetAttr description, const TargetServices &services)
      : Device(description, services),
        machineRates(readRates(description.getMachine())),
        machineLinks(readLinks(description.getMachine())) {}

  const MachineRates &rates() const override { return machineRates; }
  llvm::ArrayRef<MachineLink> links() const override { return machineLinks; }

  double collectiveSeconds(dist::CollectiveOpInterface op) const override {
    if (!this->services.collectiveTime)
      return Device::collectiveSeconds(op);
    llvm::SmallVector<llvm::StringRef> axes;
    llvm::append_range(
        axes, op.getAxes().template getAsValueRange<mlir::StringAttr>());
    return this->services.collectiveTime(this->description.getMachine(), op,
                                         this->devicesOf(axes));
  }

private:
  MachineRates machineRates;
  llvm::SmallVector<MachineLink> machineLinks;
};

} // namespace zc

#endif // ZC_PASSES_TARGET_DESCRIBEDTARGET_H
