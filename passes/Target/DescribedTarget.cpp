//===- DescribedTarget.cpp ------------------------------------------------===//
#include "passes/Target/DescribedTarget.h"

using namespace mlir;

namespace zc {

MachineRates readRates(sched::MachineAttr machine, const MachineRates &usual) {
  return {machine.getFlops().getValueAsDouble(),
          machine.getBytes().getValueAsDouble(),
          /*copy=*/{usual.copy.seconds, machine.getCopy().getValueAsDouble()},
          machine.getLaunch().getValueAsDouble()};
}

SmallVector<MachineLink> readLinks(sched::MachineAttr machine) {
  SmallVector<MachineLink> links;
  for (auto link : machine.getLinks().getAsRange<sched::LinkAttr>())
    links.push_back({link.getRanks(),
                     {link.getSeconds().getValueAsDouble(),
                      link.getBytes().getValueAsDouble()}});
  return links;
}

} // namespace zc
