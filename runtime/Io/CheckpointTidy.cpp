// The folder that checkpoints stand in: made ready, and rid of old ones.
#include "runtime/Base/File.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/TemporaryFolder.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

namespace zc {

namespace fs = std::filesystem;
using checkpoint::kTemporaryMark, checkpoint::kStatePrefix;

Result<FolderLock> prepareCheckpointFolder(const std::string &dir) {
  ZC_RETURN_IF_ERROR(makeDirectories(dir));
  if (::access(dir.c_str(), W_OK | X_OK) != 0)
    return errnoError("cannot write checkpoints to '" + dir + "'");
  ZC_ASSIGN_OR_RETURN(FolderLock lock, FolderLock::take(dir));
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(dir, error)) {
    std::string name = entry.path().filename().string();
    if (name.rfind(std::string(".") + kStatePrefix, 0) == 0 &&
        name.find(kTemporaryMark) != std::string::npos)
      removeAll(entry.path().string());
  }
  return lock;
}

/// Under a name that the next run clears, should this one be killed meanwhile.
static void removeCheckpoint(const std::string &dir, int64_t step) {
  std::string path = checkpointPath(dir, step);
  std::string hidden =
      strCat(dir, "/.", kStatePrefix, step, kTemporaryMark, "old");
  removeAll(hidden);
  removeAll(::rename(path.c_str(), hidden.c_str()) == 0 ? hidden : path);
}

void setCheckpointsAside(const std::string &dir,
                         const std::vector<int64_t> &steps) {
  for (int64_t step : steps) {
    const std::string aside = strCat(dir, "/replaced-", kStatePrefix, step);
    removeAll(aside);
    ::rename(checkpointPath(dir, step).c_str(), aside.c_str());
  }
}

size_t removeCheckpoints(const std::string &dir,
                         const std::vector<int64_t> &steps) {
  for (int64_t step : steps)
    removeCheckpoint(dir, step);
  return steps.size();
}

size_t removeLaterCheckpoints(const std::string &dir, int64_t step) {
  std::vector<int64_t> steps = listCheckpoints(dir);
  return removeCheckpoints(
      dir, {std::upper_bound(steps.begin(), steps.end(), step), steps.end()});
}

void pruneCheckpoints(const std::string &dir, int64_t latest, int64_t keep,
                      int64_t best) {
  std::vector<int64_t> steps = listCheckpoints(dir);
  steps.erase(std::upper_bound(steps.begin(), steps.end(), latest),
              steps.end());
  for (size_t i = 0; i + size_t(keep) < steps.size(); ++i)
    if (steps[i] != best)
      removeCheckpoint(dir, steps[i]);
}

} // namespace zc
