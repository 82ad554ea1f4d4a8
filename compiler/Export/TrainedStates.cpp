//===- TrainedStates.cpp - which parameters a step updates ----------------===//
#include "compiler/Export/TrainedStates.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Types.h"

namespace zc {

bool isEvaluation(const plan::Program &program) {
  return ProgramName::parse(program.name()).base == programs::kEval;
}

TrainedStates::TrainedStates(const plan::Role &role) {
  for (const plan::Program &program : role.programs())
    if (program.name() != programs::kInit && !isEvaluation(program))
      for (const plan::Buffer &buffer : program.buffers())
        if (buffer.space() == plan::PERSISTENT ||
            buffer.space() == plan::OFFLOADED)
          touched[buffer.space()].insert(buffer.offset());
}

bool TrainedStates::contains(const plan::State &state) const {
  if (state.kind() != plan::PARAMETER)
    return false;
  auto offsets =
      touched.find(state.offloaded() ? plan::OFFLOADED : plan::PERSISTENT);
  if (offsets == touched.end())
    return false;
  auto first = offsets->second.lower_bound(state.offset());
  return first != offsets->second.end() &&
         *first < state.offset() + *byteCount(state.type());
}

} // namespace zc
