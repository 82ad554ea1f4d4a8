// How long collectives and messages take among the ranks of a run.
#ifndef ZC_RUNTIME_DRIVER_MEASURELINKS_H
#define ZC_RUNTIME_DRIVER_MEASURELINKS_H

#include "runtime/Comm/World.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

struct LinkTime {
  std::string kind;   // of kTimedCollectives: "all_reduce", ..., "message"
  uint64_t bytes = 0; // the whole of what is gathered or reduced; of a message
  double seconds = 0;
};

/// Called by all ranks, two or more: sizes from 1 kB, four times as much each,
/// up to `most` bytes, each until it has been repeated for `seconds`. Takes the
/// median of this rank's times; a message's time is half of a round trip
/// between the first two ranks.
Result<std::vector<LinkTime>> measureLinks(World &world, uint64_t most,
                                           double seconds);

/// {"ranks": 2, "links": [{"kind", "bytes", "seconds"}, ...]}
std::string linksToJson(int ranks, const std::vector<LinkTime> &times);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_MEASURELINKS_H
