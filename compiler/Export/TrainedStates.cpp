//===- TrainedStates.cpp - which parameters a step updates ----------------===//
#include "compiler/Export/TrainedStates.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

namespace zc {

bool isEvaluation(const plan::Program &program) {
  return program.name() == "eval" || program.name().rfind("eval.", 0) == 0;
}

static bool touches(const plan::Buffer &buffer, const plan::State &state) {
  const plan::Space space =
      state.offloaded() ? plan::OFFLOADED : plan::PERSISTENT;
  return buffer.space() == space && buffer.offset() >= state.offset() &&
         buffer.offset() < state.offset() + *byteCount(state.type());
}

bool isTrained(const plan::Role &role, const plan::State &state) {
  if (state.kind() != plan::PARAMETER)
    return false;
  return std::any_of(role.programs().begin(), role.programs().end(),
                     [&](const plan::Program &program) {
                       return program.name() != "init" &&
                              !isEvaluation(program) &&
                              std::any_of(program.buffers().begin(),
                                          program.buffers().end(),
                                          [&](const plan::Buffer &buffer) {
                                            return touches(buffer, state);
                                          });
                     });
}

} // namespace zc
