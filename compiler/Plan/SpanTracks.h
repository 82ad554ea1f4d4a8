//===- SpanTracks.h - where a plan's spans are drawn ------------*- C++ -*-===//
//
// A track for each stream, one for the order, as traces of runs have them.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_PLAN_SPANTRACKS_H
#define ZC_COMPILER_PLAN_SPANTRACKS_H

#include "runtime/Simulate/Simulation.h"

#include <string>

namespace zc {

/// Behind the streams, as in traces of runs.
constexpr uint32_t kOrderTrack = 16, kSendTrack = 17, kReceiveTrack = 18;

/// A stream, or one of the tracks above.
uint32_t trackOf(const SimulatedSpan &span);

/// "order", "sends", "receives", "stores".
std::string nameOfTrack(uint32_t track);

/// "forward 3", "send activation 3", or an instruction's label.
std::string labelOf(const SimulatedSpan &span);

} // namespace zc

#endif // ZC_COMPILER_PLAN_SPANTRACKS_H
