// The ways of library calls on the CPU: which are open, which was chosen, and
// which is the quickest.
#ifndef ZC_RUNTIME_DEVICE_CPU_CALLWAYS_H
#define ZC_RUNTIME_DEVICE_CPU_CALLWAYS_H

#include "kernels/Cpu/Ways.h"
#include "runtime/Device/Device.h"

namespace zc::cpu {

/// See Device::keyOfWays.
std::string keyOfWays(const Launch &launch, int threads,
                      kernels::MatmulPrecision precision);

/// The chosen way of a call; the rule where none was.
kernels::Way chosenWay(const ChosenWays &ways, const std::string &key);

/// See Device::measureWays. Called by the thread whose team computes.
Result<MeasuredWays> measureWays(const Launch &launch, double seconds,
                                 kernels::MatmulPrecision precision);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_CALLWAYS_H
