//===- OffloadTimes.h - when copies begin and are waited for ----*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_OFFLOADTIMES_H
#define ZC_PASSES_SCHEDULING_OFFLOADTIMES_H

#include "mlir/Support/LLVM.h"
#include "passes/Target/Target.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace zc {

/// A copy between the two memory spaces. Times are numbers of instructions of
/// the main stream, as in OffloadUses.h.
struct OffloadCopy {
  bool isFetch; // from the second space
  int64_t bytes;
  /// A fetch: from when on it may begin, and when it must have ended. A store:
  /// when it begins.
  unsigned earliest, needed;
  /// A fetch: the number of the store of what it brings back.
  size_t behind = kNothing;
  /// Set: when a fetch begins, or when a store is waited for; kNever: others'
  /// waits or the program's end do.
  unsigned time = kNever;
  /// Set: a store that ends in front of a fetch that is waited for, as they
  /// share a line, so that fetches which begin at that time need not come
  /// behind it.
  bool endsBesideFetches = false;

  static constexpr unsigned kNever = ~0u;
  static constexpr size_t kNothing = ~size_t(0);
};

/// The time of a copy of that many bytes, by the cost model.
double estimateCopySeconds(const MachineRates &rates, int64_t bytes);

/// The device's memory that stores may take until they have ended.
enum class StoreRoom {
  Quick, // twice the most that begin at one time
  Least, // nothing: each is waited for in front of the next instruction
};

/// Chooses the times of copies that run beside instructions which take
/// `seconds`; fetches and stores run beside each other, too, where the second
/// memory is a host's. Bytes of fetches on their way are at most twice the most
/// that are needed at one time. Returns for how many seconds the program waits
/// for copies, those behind its last instruction included.
double chooseOffloadTimes(const Target &target, llvm::ArrayRef<double> seconds,
                          std::vector<OffloadCopy> &copies,
                          StoreRoom room = StoreRoom::Quick);

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_OFFLOADTIMES_H
