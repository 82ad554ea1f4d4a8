// Where checkpoints lie, for all who read or write them: DIR/step-N, which is
// one if it is complete.
#ifndef ZC_RUNTIME_PLAN_CHECKPOINTFOLDER_H
#define ZC_RUNTIME_PLAN_CHECKPOINTFOLDER_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

namespace checkpoint {
constexpr const char *kStatePrefix = "step-";
constexpr const char *kTrainState = "train_state.json";
constexpr const char *kModelIndex = "model.safetensors.index.json";
constexpr const char *kOptimizerIndex = "optimizer.safetensors.index.json";
} // namespace checkpoint

/// Whether the folder is a complete checkpoint, whatever its name.
bool isCheckpoint(const std::string &path);

/// The checkpoint that DIR (its latest) or DIR/step-N names.
Result<std::string> findCheckpoint(const std::string &path);

/// The steps that `dir` has complete checkpoints of, in ascending order.
std::vector<int64_t> listCheckpoints(const std::string &dir);

/// A folder "step-N" in `dir` that is no checkpoint, or nothing.
std::string findForeign(const std::string &dir);

/// Whether DIR, or what would be DIR/step-N, holds no checkpoint and nothing
/// that was one: there is nothing to go on from, and nothing to lose.
bool holdsNoCheckpoint(const std::string &path);

/// "DIR/step-N".
std::string checkpointPath(const std::string &dir, int64_t step);

/// DIR for DIR or DIR/step-N, whichever way it is written.
std::string checkpointFolder(const std::string &path);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_CHECKPOINTFOLDER_H
