//===- PlanTimeline.cpp - a plan as a trace -------------------------------===//
//
// In the form of `zc run --trace`: a process for each role, a track for each
// stream, one for the order.
//
//===----------------------------------------------------------------------===//
#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/SpanTracks.h"

#include <nlohmann/json.hpp>
#include <set>

namespace zc {
namespace {

nlohmann::json eventOf(const SimulatedSpan &span) {
  nlohmann::json arguments = {{"micro_batch", span.microBatch}};
  if (span.kind == SimulatedSpan::Kind::Instruction) {
    const plan::Instruction &instruction =
        span.program->instructions(span.instruction);
    arguments["program"] = span.program->name();
    arguments["instruction"] = span.instruction;
    arguments["flops"] = instruction.flops();
    arguments["bytes"] = instruction.bytes();
  }
  return {{"ph", "X"},
          {"pid", span.role},
          {"tid", trackOf(span)},
          {"name", labelOf(span)},
          {"ts", span.begin * 1e6},
          {"dur", (span.end - span.begin) * 1e6},
          {"args", arguments}};
}

nlohmann::json metadata(const char *what, uint32_t role, uint32_t track,
                        const std::string &name) {
  return {{"ph", "M"},
          {"pid", role},
          {"tid", track},
          {"name", what},
          {"args", {{"name", name}}}};
}

} // namespace

std::string planAsTimeline(const plan::Manifest &manifest,
                           const PlanReport &report) {
  std::string text;
  auto add = [&](const nlohmann::json &json) {
    text += (text.empty() ? "[" : ",\n") +
            json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::set<std::pair<uint32_t, uint32_t>> tracks;
  for (uint32_t role = 0; role < uint32_t(manifest.roles_size()); ++role)
    add(metadata("process_name", role, 0, "role " + std::to_string(role)));
  for (const SimulatedSpan &span : report.simulated.orders.spans) {
    if (tracks.insert({span.role, trackOf(span)}).second)
      add(metadata("thread_name", span.role, trackOf(span),
                   nameOfTrack(trackOf(span))));
    add(eventOf(span));
  }
  return text + "]\n";
}

} // namespace zc
