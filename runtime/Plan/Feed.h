// The batch that comes next, beside the one that a step works on: devices that
// run while the host goes on have room for both.
#ifndef ZC_RUNTIME_PLAN_FEED_H
#define ZC_RUNTIME_PLAN_FEED_H

#include "runtime/Plan/Manifest.pb.h"

#include <cstdint>

namespace zc {

/// The program that takes the samples of training: "step", or "micro"; null:
/// the artifact trains nothing, or its device is fed when it is at rest.
const plan::Program *programFedAhead(const plan::Manifest &manifest,
                                     const plan::Role &role);

/// Where input `index` of that program lies among the bytes that are fed ahead;
/// with the number of inputs: how many bytes those are. In a verified manifest.
uint64_t fedAheadOffset(const plan::Program &program, int index);

/// How many bytes of a device's memory the next batch takes; part of its peak.
uint64_t fedAheadBytes(const plan::Manifest &manifest, const plan::Role &role);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_FEED_H
