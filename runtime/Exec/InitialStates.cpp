// Initial values of a rank's states: the artifact's weights, then what the init
// program computes.
#include "runtime/Exec/Executor.h"
#include "runtime/Plan/FloatBytes.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

namespace zc {

/// Straight from the mapped file into the region, letting go of what is read.
Status Executor::loadTensor(const FileTensor &tensor) {
  constexpr uint64_t kChunk = 8u << 20;
  const plan::DataType type = tensor.type.dtype();
  const plan::DataType stored = tensor.storedType().dtype();
  const uint64_t size = elementBytes(stored), wide = elementBytes(type);
  std::string_view whole = theArtifact.initialBytes(tensor);
  for (const TensorRun &run : tensor.runs(theMesh, theWorld->rank()))
    for (uint64_t at = 0; at < run.count * size; at += kChunk) {
      std::string_view part = whole.substr(
          run.whole * size + at, std::min(kChunk, run.count * size - at));
      const std::string widened =
          stored == type ? std::string() : convertFloats(part, stored, type);
      std::string_view bytes = stored == type ? part : widened;
      ZC_RETURN_IF_ERROR(writeState(*tensor.state,
                                    run.state * wide + at / size * wide,
                                    bytes.data(), bytes.size()));
      theArtifact.archive().release(part);
    }
  return Status();
}

Status Executor::loadWeights() {
  for (const plan::State &state : role().states())
    for (const FileTensor &tensor : fileTensorsOf(state))
      if (tensor.source())
        ZC_RETURN_IF_ERROR(loadTensor(tensor));
  return Status();
}

Status Executor::writeCoordinates() {
  const size_t prefix = std::char_traits<char>::length(kCoordinatePrefix);
  for (const plan::State &state : role().states()) {
    if (!isCoordinate(state))
      continue;
    int64_t coordinate =
        theMesh.coordinate(theWorld->rank(), state.name().substr(prefix));
    ZC_RETURN_IF_ERROR(writeState(state, 0, &coordinate, sizeof(coordinate)));
  }
  return Status();
}

Status Executor::initialise() {
  ZC_RETURN_IF_ERROR(writeCoordinates());
  const plan::Program *init = theArtifact.program(programs::kInit);
  // All versions are the first one.
  for (int64_t version = std::max(1u, role().versions()); version > 0;) {
    setStepsDone(--version);
    ZC_RETURN_IF_ERROR(loadWeights());
    if (init)
      ZC_RETURN_IF_ERROR(run(*init));
  }
  return Status();
}

} // namespace zc
