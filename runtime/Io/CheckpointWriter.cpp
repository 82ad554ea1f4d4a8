#include "runtime/Io/CheckpointSave.h"

#include <algorithm>

namespace zc {

using namespace checkpoint;

// Small enough to count as nothing beside the planned memory; of a GPU's, large
// enough that one part is written while the next one is under way.
static constexpr uint64_t kChunk = 256 * 1024;
static constexpr uint64_t kChunkFromGpu = 16 << 20;

Result<std::string> saveCheckpoint(Executor &executor, const std::string &dir,
                                   const TrainState &state) {
  const CheckpointLayout layout(executor);
  ZC_ASSIGN_OR_RETURN(CheckpointSave save,
                      CheckpointSave::begin(executor, layout, dir, state));
  std::string bytes;
  auto read = [&](size_t index, uint64_t at,
                  uint64_t count) -> Result<const char *> {
    bytes.resize(std::max<size_t>(bytes.size(), count));
    ZC_RETURN_IF_ERROR(
        readPart(executor, layout.parts()[index], at, bytes.data(), count));
    return bytes.data();
  };
  return save.write(executor.world(), read,
                    executor.hostReadsMemory() ? kChunk : kChunkFromGpu);
}

} // namespace zc
