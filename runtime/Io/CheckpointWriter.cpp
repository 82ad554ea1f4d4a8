#include "runtime/Base/File.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/CheckpointFormat.h"
#include "runtime/Io/Convert.h"
#include "runtime/Io/Scalars.h"
#include "runtime/Plan/Safetensors.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace zc {

namespace fs = std::filesystem;
using namespace checkpoint;

namespace {

// Small enough to count as nothing beside the planned memory.
constexpr uint64_t kChunk = 256 * 1024;
constexpr const char *kTemporaryMark = ".tmp-";

/// A folder that vanishes unless it is renamed into place.
class TemporaryFolder {
public:
  static Result<TemporaryFolder> create(const std::string &finalPath) {
    fs::path place(finalPath);
    std::string path = (place.parent_path() / ("." + place.filename().string() +
                                               kTemporaryMark + "XXXXXX"))
                           .string();
    if (!::mkdtemp(path.data()))
      return errnoError("cannot write checkpoint '" + finalPath + "'");
    mode_t mask = ::umask(0);
    ::umask(mask);
    ::chmod(path.c_str(), 0777 & ~mask);
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder &&other) noexcept
      : thePath(std::exchange(other.thePath, "")) {}
  ~TemporaryFolder() {
    if (!thePath.empty())
      removeAll(thePath);
  }

  const std::string &path() const { return thePath; }

  /// Takes the place of `target`; a folder that is there goes away after.
  Status moveTo(const std::string &target) {
    ZC_RETURN_IF_ERROR(syncDirectory(thePath));
    std::error_code error;
    if (!fs::exists(target, error)) {
      if (::rename(thePath.c_str(), target.c_str()) != 0)
        return errnoError("cannot write checkpoint '" + target + "'");
      thePath.clear();
      return syncDirectory(parentPath(target));
    }
    // The two folders change places at once: there is never none.
    if (::renameat2(AT_FDCWD, thePath.c_str(), AT_FDCWD, target.c_str(),
                    RENAME_EXCHANGE) != 0)
      return errnoError("cannot replace checkpoint '" + target + "'");
    return syncDirectory(parentPath(target));
  }

private:
  explicit TemporaryFolder(std::string path) : thePath(std::move(path)) {}
  std::string thePath;
};

Status writeState(Executor &executor, const plan::State &state,
                  AtomicFile &file) {
  std::string chunk(kChunk, '\0');
  uint64_t total = *byteCount(state.type());
  for (uint64_t at = 0; at < total; at += kChunk) {
    uint64_t bytes = std::min(kChunk, total - at);
    ZC_RETURN_IF_ERROR(executor.readState(state, at, chunk.data(), bytes));
    if (!allFinite(state.type().dtype(), {chunk.data(), bytes}))
      return makeError(StatusCode::InvalidArgument, "'", state.name(),
                       "' has values that are infinite or not a number, so "
                       "no checkpoint was written; try a smaller --lr");
    ZC_RETURN_IF_ERROR(file.write(chunk.data(), bytes));
  }
  return Status();
}

/// One tensor file and its index.
Status writeGroup(Executor &executor, const std::string &folder,
                  const Group &group) {
  std::vector<const plan::State *> states;
  std::vector<SafetensorsTensor> tensors;
  Json weightMap = Json::object();
  uint64_t totalBytes = 0;
  std::string fileName =
      std::string(group.name) + "-00001-of-00001.safetensors";
  for (const plan::State &state : executor.artifact().manifest().states()) {
    if (!group.holds(state.kind()))
      continue;
    states.push_back(&state);
    tensors.push_back({state.name(),
                       safetensorsTypeName(state.type().dtype()),
                       {state.type().dims().begin(), state.type().dims().end()},
                       {}});
    weightMap[state.name()] = fileName;
    totalBytes += *byteCount(state.type());
  }
  std::string header = makeSafetensorsHeader(tensors, {{"format", "pt"}});
  ZC_ASSIGN_OR_RETURN(AtomicFile file,
                      AtomicFile::create(folder + "/" + fileName));
  ZC_RETURN_IF_ERROR(file.write(header.data(), header.size()));
  for (const plan::State *state : states)
    ZC_RETURN_IF_ERROR(writeState(executor, *state, file));
  ZC_RETURN_IF_ERROR(file.commit());
  Json index = {{"metadata", {{"total_size", totalBytes}}},
                {"weight_map", weightMap}};
  return writeFile(folder + "/" + indexName(group),
                   index.dump(2, ' ', false, Json::error_handler_t::replace) +
                       "\n");
}

Status writeTrainState(Executor &executor, const std::string &folder,
                       const TrainState &state) {
  const plan::Manifest &manifest = executor.artifact().manifest();
  Json scalars = Json::object();
  for (const plan::State &scalar : manifest.states()) {
    if (scalar.kind() != plan::SCALAR)
      continue;
    std::string bytes(*byteCount(scalar.type()), '\0');
    ZC_RETURN_IF_ERROR(
        executor.readState(scalar, 0, bytes.data(), bytes.size()));
    scalars[scalar.name()] = scalarToJson(scalar, bytes);
  }
  Json json = {{"format", kFormat},
               {"zc_version", manifest.zc_version()},
               {"model", manifest.model_name()},
               {"step", state.step},
               {"seed", state.seed},
               {"shuffle", state.shuffle},
               {"batch", state.batch},
               {"samples", state.samples},
               {"scalars", scalars}};
  return writeFile(folder + "/" + kTrainState,
                   json.dump(2, ' ', false, Json::error_handler_t::replace) +
                       "\n");
}

} // namespace

Result<std::string> saveCheckpoint(Executor &executor, const std::string &dir,
                                   const TrainState &state) {
  std::string target = checkpointPath(dir, state.step);
  ZC_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::create(target));
  ZC_RETURN_IF_ERROR(writeGroup(executor, folder.path(), kModel));
  ZC_RETURN_IF_ERROR(writeGroup(executor, folder.path(), kOptimizer));
  ZC_RETURN_IF_ERROR(writeTrainState(executor, folder.path(), state));
  ZC_RETURN_IF_ERROR(folder.moveTo(target));
  return target;
}

Status prepareCheckpointFolder(const std::string &dir) {
  ZC_RETURN_IF_ERROR(makeDirectories(dir));
  if (::access(dir.c_str(), W_OK | X_OK) != 0)
    return errnoError("cannot write checkpoints to '" + dir + "'");
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(dir, error)) {
    std::string name = entry.path().filename().string();
    if (name.rfind(std::string(".") + kStatePrefix, 0) == 0 &&
        name.find(kTemporaryMark) != std::string::npos)
      removeAll(entry.path().string());
  }
  return Status();
}

/// Under a name that the next run clears, should this one be killed meanwhile.
static void removeCheckpoint(const std::string &dir, int64_t step) {
  std::string path = checkpointPath(dir, step);
  std::string hidden =
      strCat(dir, "/.", kStatePrefix, step, kTemporaryMark, "old");
  removeAll(hidden);
  removeAll(::rename(path.c_str(), hidden.c_str()) == 0 ? hidden : path);
}

size_t removeLaterCheckpoints(const std::string &dir, int64_t step) {
  std::vector<int64_t> steps = listCheckpoints(dir);
  auto later = std::upper_bound(steps.begin(), steps.end(), step);
  for (auto it = later; it != steps.end(); ++it)
    removeCheckpoint(dir, *it);
  return size_t(steps.end() - later);
}

void pruneCheckpoints(const std::string &dir, int64_t latest, int64_t keep) {
  std::vector<int64_t> steps = listCheckpoints(dir);
  steps.erase(std::upper_bound(steps.begin(), steps.end(), latest),
              steps.end());
  for (size_t i = 0; i + size_t(keep) < steps.size(); ++i)
    removeCheckpoint(dir, steps[i]);
}

} // namespace zc
