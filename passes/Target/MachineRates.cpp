//===- MachineRates.cpp ---------------------------------------------------===//
#include "passes/Target/MachineRates.h"

using namespace mlir;

namespace zc {

MachineRates::MachineRates(sched::MachineAttr machine)
    : bytes(machine.getBytes().getValueAsDouble()),
      copy{machine.getCopySeconds().getValueAsDouble(),
           machine.getCopy().getValueAsDouble()},
      launchSeconds(machine.getLaunch().getValueAsDouble()),
      hostBytes(machine.getHost().getValueAsDouble()) {
  for (auto rate : machine.getRates().getAsRange<sched::RateAttr>())
    flops[{rate.getWork().str(), rate.getType().str()}] =
        rate.getFlops().getValueAsDouble();
}

const double *MachineRates::find(const std::string &work,
                                 const std::string &type) const {
  if (auto found = flops.find({work, type}); found != flops.end())
    return &found->second;
  auto otherwise = flops.find({work, "f32"});
  return otherwise == flops.end() ? nullptr : &otherwise->second;
}

double MachineRates::flopsOf(const WorkClass &work) const {
  if (const double *rate = find(work.work, work.type))
    return *rate;
  return *find(sched::kKernelWork.str(), "f32"); // a machine has it
}

SmallVector<MachineLink> readLinks(sched::MachineAttr machine) {
  SmallVector<MachineLink> links;
  for (auto link : machine.getLinks().getAsRange<sched::LinkAttr>())
    links.push_back({link.getRanks(),
                     {link.getSeconds().getValueAsDouble(),
                      link.getBytes().getValueAsDouble()}});
  return links;
}

void WorkSum::add(double flops, double rate) { flopsOfRate[rate] += flops; }

double WorkSum::seconds() const {
  double sum = 0;
  for (auto [rate, flops] : flopsOfRate)
    sum += flops / rate;
  return sum;
}

} // namespace zc
