//===- MachineRates.h - how fast a described machine is ---------*- C++ -*-===//
//
// The numbers of `#sched.machine`. A cluster file (tools/clusters) has
// been read to make it: that of `--cluster`, or of the device's usual machine.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_TARGET_MACHINERATES_H
#define ZC_PASSES_TARGET_MACHINERATES_H

#include "dialects/Sched/TargetAttr.h"

#include <cstdint>
#include <map>
#include <string>

namespace zc {

/// A link's latency in seconds per transfer, and its bytes per second.
struct LinkRates {
  double seconds, bytes;
};

/// Links that join blocks of so many neighbouring ranks.
struct MachineLink {
  int64_t ranks;
  LinkRates rates;
};

/// A class of work on factors of a type, as cluster files name both:
/// "attention", "bf16". By default that of generated code.
struct WorkClass {
  std::string work = sched::kKernelWork.str();
  std::string type = "f32";
};

/// Per second, and seconds that each transfer takes besides.
class MachineRates {
public:
  explicit MachineRates(sched::MachineAttr machine);

  double bytes;         // kernels: read and written
  LinkRates copy;       // to and from the second memory
  double launchSeconds; // one kernel behind another; 0: nothing
  /// The memory of a device's host, where that updates parameters.
  double hostBytes;

  /// FLOPs a second of a class of work. A type that the machine does not list
  /// is as fast as f32, a class that it does not list as generated code.
  double flopsOf(const WorkClass &work) const;

private:
  const double *find(const std::string &work, const std::string &type) const;

  std::map<std::pair<std::string, std::string>, double> flops;
};

/// The links of a machine, innermost first.
llvm::SmallVector<MachineLink> readLinks(sched::MachineAttr machine);

/// FLOPs that are done one after another, each at the rate of its class.
class WorkSum {
public:
  void add(double flops, double rate);
  double seconds() const;

private:
  std::map<double, double> flopsOfRate; // so that equal rates add up exactly
};

} // namespace zc

#endif // ZC_PASSES_TARGET_MACHINERATES_H
