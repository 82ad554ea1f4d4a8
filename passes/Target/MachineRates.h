//===- MachineRates.h - what the cost model takes for granted ---*- C++ -*-===//
//
// Only ratios matter: which ops overlap, and how far ahead a copy begins.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_TARGET_MACHINERATES_H
#define ZC_PASSES_TARGET_MACHINERATES_H

#include <cstdint>

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

/// Per second, and seconds that each transfer takes besides.
struct MachineRates {
  double flops, bytes;  // kernels: computed, read and written
  LinkRates copy;       // to and from the second memory
  double launchSeconds; // one kernel behind another; 0: nothing
  /// The memory of a device's host, where that updates parameters: an eighth of
  /// two processors' with 8 channels of DDR5 each, at two thirds.
  double hostBytes = 5e10;
};

} // namespace zc

#endif // ZC_PASSES_TARGET_MACHINERATES_H
