// How many threads of this process can really run at once: the processors that
// it may use, and the share of their time that control groups leave it.
#ifndef ZC_RUNTIME_BASE_CORES_H
#define ZC_RUNTIME_BASE_CORES_H

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

/// The processors of the affinity mask.
struct AllowedCores {
  int count = 1;
  uint64_t mask = 0; // a hash: equal for processes that may use the same ones
  std::vector<int> processors = {}; // by the system's numbers, ascending
};
AllowedCores findAllowedCores();

/// The least that any control group above this process allows.
struct CpuQuota {
  double cores = 0;  // processors' worth of time; 0: no limit
  std::string group; // the folder of the group whose limit it is
};
/// Reads the limits of control groups of version 1, version 2, or both; `root`
/// is where /proc and /sys are looked for. Unreadable files limit nothing.
CpuQuota readCpuQuota(const std::string &root = "");

/// How many threads pay where so many processors may be used for so much time,
/// at least 1. A thread more for a part of a processor pays from a quarter on:
/// below that its barriers cost more than it computes.
int threadsWorth(int allowed, double quota);

/// How many threads pay in this process.
int usableCores();

/// The threads of one of several ranks.
struct CoreShare {
  int count = 1;
  std::string reason; // why no more: "there are 2 processors to 4 ranks"
};

/// `ranksOnCores` ranks may use these processors, this one included, and
/// `ranksInGroup` are in the control group that sets the limit.
CoreShare shareCores(const AllowedCores &allowed, const CpuQuota &quota,
                     int64_t ranksOnCores, int64_t ranksInGroup);

/// The ranks of a host among which processors are dealt.
struct CoreNeighbours {
  int64_t count = 1;    // ranks with this affinity mask, this one included
  int64_t place = 0;    // of this one among them
  bool overlap = false; // ranks with another mask may use some of them, too
};

/// The processors that one rank has for itself.
struct OwnCores {
  std::vector<int> processors;
  std::string reason; // why there are none: "a control group limits its time"
};

/// For threads to stay on: an equal part of the mask, as long as nothing else
/// is known to be meant for these processors. The environment's
/// OMP_PROC_BIND=false leaves nobody any.
OwnCores dealCores(const AllowedCores &allowed, const CpuQuota &quota,
                   const CoreNeighbours &neighbours);

/// "0-3,8" of ascending numbers.
std::string printProcessors(const std::vector<int> &processors);

} // namespace zc

#endif // ZC_RUNTIME_BASE_CORES_H
