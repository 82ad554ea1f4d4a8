//===- SpanTracks.cpp - where a plan's spans are drawn --------------------===//
#include "compiler/Plan/SpanTracks.h"

#include "runtime/Plan/StreamNumbers.h"

namespace zc {

uint32_t trackOf(const SimulatedSpan &span) {
  switch (span.kind) {
  case SimulatedSpan::Kind::Instruction:
    return span.program->instructions(span.instruction).stream();
  case SimulatedSpan::Kind::Call:
    return kOrderTrack;
  case SimulatedSpan::Kind::Send:
    return kSendTrack;
  default:
    return kReceiveTrack;
  }
}

std::string labelOf(const SimulatedSpan &span) {
  const std::string number = std::to_string(span.microBatch);
  switch (span.kind) {
  case SimulatedSpan::Kind::Instruction:
    return span.program->instructions(span.instruction).label();
  case SimulatedSpan::Kind::Call:
    return span.program->name() + " " + number;
  default:
    return std::string(span.kind == SimulatedSpan::Kind::Send ? "send "
                                                              : "receive ") +
           (span.message->gradient() ? "gradient " : "activation ") + number;
  }
}

std::string nameOfTrack(uint32_t track) {
  switch (track) {
  case kOrderTrack:
    return "order";
  case kSendTrack:
    return "sends";
  case kReceiveTrack:
    return "receives";
  default:
    return streams::nameOf(track);
  }
}

} // namespace zc
