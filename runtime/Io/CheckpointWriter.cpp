#include "runtime/Base/File.h"
#include "runtime/Base/Hash.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/CheckpointFormat.h"
#include "runtime/Io/Convert.h"
#include "runtime/Io/Copies.h"
#include "runtime/Io/PartFile.h"
#include "runtime/Io/Scalars.h"
#include "runtime/Plan/RoleTensors.h"
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

// Small enough to count as nothing beside the planned memory; of a GPU's, large
// enough that one part is written while the next one is under way.
constexpr uint64_t kChunk = 256 * 1024;
constexpr uint64_t kChunkFromGpu = 16 << 20;
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

/// One of a group's files: whole tensors, one after another.
struct TensorFile {
  std::string name;
  std::vector<HeldTensor> tensors;
  std::vector<SafetensorsTensor> entries;
  uint64_t bytes = 0; // of the tensors
};

/// As many files as ranks where there are tensors enough, so that ranks begin
/// in different ones; all ranks find the same.
std::vector<TensorFile> divideIntoFiles(const plan::Manifest &manifest,
                                        const Group &group, size_t ranks) {
  std::vector<HeldTensor> tensors = tensorsOfRoles(manifest, group.tensorsOf);
  uint64_t total = 0, before = 0;
  for (const HeldTensor &held : tensors)
    total += *byteCount(held.tensor.type);
  const size_t count = std::max<size_t>(1, std::min(ranks, tensors.size()));
  std::vector<TensorFile> files(count);
  for (size_t i = 0; i < count; ++i) {
    char name[64];
    std::snprintf(name, sizeof(name), "-%05zu-of-%05zu.safetensors", i + 1,
                  count);
    files[i].name = group.name + std::string(name);
  }
  size_t at = 0;
  for (HeldTensor &held : tensors) {
    const FileTensor &tensor = held.tensor;
    // On to the next file when this one has its share.
    while (at + 1 < count && before * count >= (at + 1) * total)
      ++at;
    TensorFile &file = files[at];
    const uint64_t bytes = *byteCount(tensor.type);
    before += bytes;
    file.bytes += bytes;
    file.entries.push_back(
        {tensor.name(),
         safetensorsTypeName(tensor.type.dtype()),
         {tensor.type.dims().begin(), tensor.type.dims().end()},
         {},
         /*xxh64=*/0});
    file.tensors.push_back(std::move(held));
  }
  return files;
}

std::string headerOf(const TensorFile &file) {
  return makeSafetensorsHeader(file.entries, {{"format", "pt"}});
}

/// What this rank has of a tensor that begins at `offset`.
Status writeTensor(Executor &executor, const FileTensor &tensor,
                   uint64_t offset, PartFile &file) {
  const plan::DataType type = tensor.type.dtype();
  const uint64_t size = elementBytes(type);
  const uint64_t most = executor.hostReadsMemory() ? kChunk : kChunkFromGpu;
  std::string chunk(std::min(most, *byteCount(tensor.type)), '\0');
  for (const TensorRun &run :
       tensor.runs(executor.mesh(), executor.world().rank()))
    for (uint64_t at = 0; at < run.count * size; at += chunk.size()) {
      uint64_t bytes = std::min<uint64_t>(chunk.size(), run.count * size - at);
      ZC_RETURN_IF_ERROR(executor.readState(*tensor.state,
                                            run.state * size + at, chunk.data(),
                                            bytes, tensor.age));
      if (!allFinite(type, {chunk.data(), bytes}))
        return makeError(StatusCode::InvalidArgument, "'", tensor.name(),
                         "' has values that are infinite or not a number, so "
                         "no checkpoint was written; try a smaller --lr");
      ZC_RETURN_IF_ERROR(
          file.writeAt(offset + run.whole * size + at, chunk.data(), bytes));
    }
  return Status();
}

/// Of tensors that several ranks have, the first one of the first role writes.
Status writeOwnParts(Executor &executor, const std::string &folder,
                     const TensorFile &file) {
  std::optional<PartFile> opened;
  uint64_t offset = headerOf(file).size();
  const int rank = executor.world().rank();
  const int role = executor.mesh().role(rank);
  for (const auto &[tensor, roles] : file.tensors) {
    if (roles.front() == role && tensor.isOwner(executor.mesh(), rank)) {
      if (!opened) {
        ZC_ASSIGN_OR_RETURN(PartFile part,
                            PartFile::open(folder + "/" + file.name));
        opened.emplace(std::move(part));
      }
      ZC_RETURN_IF_ERROR(writeTensor(executor, tensor, offset, *opened));
    }
    offset += *byteCount(tensor.type);
  }
  return opened ? opened->sync() : Status();
}

/// Checksums are of whole tensors, of which ranks have parts: they come once
/// all is written, into the place that the header has for them.
Status writeChecksums(const std::string &folder, TensorFile file) {
  const std::string path = folder + "/" + file.name;
  ZC_ASSIGN_OR_RETURN(auto written, MappedFile::open(path));
  std::string_view rest = written->bytes().substr(headerOf(file).size());
  for (SafetensorsTensor &entry : file.entries) {
    ZC_ASSIGN_OR_RETURN(const uint64_t size, safetensorsTensorBytes(entry));
    entry.xxh64 = hashBytes(rest.substr(0, size));
    written->release(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  const std::string header = headerOf(file);
  ZC_ASSIGN_OR_RETURN(PartFile part, PartFile::open(path));
  ZC_RETURN_IF_ERROR(part.writeAt(0, header.data(), header.size()));
  return part.sync();
}

Status writeIndex(const std::string &folder, const Group &group,
                  const std::vector<TensorFile> &files) {
  Json weightMap = Json::object();
  uint64_t totalBytes = 0;
  for (const TensorFile &file : files) {
    totalBytes += file.bytes;
    for (const HeldTensor &held : file.tensors)
      weightMap[held.tensor.name()] = file.name;
  }
  Json index = {{"metadata", {{"total_size", totalBytes}}},
                {"weight_map", weightMap}};
  return writeFile(folder + "/" + indexName(group),
                   index.dump(2, ' ', false, Json::error_handler_t::replace) +
                       "\n");
}

/// The files of a group and their index. Each file is created by one rank, then
/// filled by all, and then given its checksums by that one.
Status writeGroup(Executor &executor, const std::string &folder,
                  const Group &group) {
  World &world = executor.world();
  const std::vector<TensorFile> files = divideIntoFiles(
      executor.artifact().manifest(), group, size_t(world.size()));
  Status created;
  if (size_t(world.rank()) < files.size()) {
    const TensorFile &mine = files[size_t(world.rank())];
    std::string header = headerOf(mine);
    created = PartFile::create(folder + "/" + mine.name, header,
                               header.size() + mine.bytes);
  }
  ZC_RETURN_IF_ERROR(world.agree(created));
  Status written;
  for (size_t i = 0; written.ok() && i < files.size(); ++i)
    written = writeOwnParts(executor, folder,
                            files[(size_t(world.rank()) + i) % files.size()]);
  if (written.ok() && world.isFirst())
    written = writeIndex(folder, group, files);
  ZC_RETURN_IF_ERROR(world.agree(written));
  Status summed;
  if (size_t(world.rank()) < files.size())
    summed = writeChecksums(folder, files[size_t(world.rank())]);
  return world.agree(summed);
}

bool isSavedScalar(const plan::State &state) {
  return state.kind() == plan::SCALAR && !isCoordinate(state) &&
         !isSetting(state);
}

/// The scalars of all roles, from the first rank of the first one that has
/// each. Called by all ranks; the first one gets them all.
Result<Json> collectScalars(Executor &executor) {
  World &world = executor.world();
  const Mesh &mesh = executor.mesh();
  Json scalars = Json::object();
  for (const auto &[tensor, roles] :
       tensorsOfRoles(executor.artifact().manifest(), isSavedScalar)) {
    const plan::State &scalar = *tensor.state;
    const int holder = mesh.firstOf(roles.front());
    std::string bytes(*byteCount(scalar.type()), '\0');
    Status status;
    if (world.rank() == holder)
      status = executor.readState(scalar, 0, bytes.data(), bytes.size());
    if (holder != 0) {
      ZC_RETURN_IF_ERROR(world.agree(status));
      status = world.all().broadcast(bytes.data(), bytes.size(), holder);
    }
    ZC_RETURN_IF_ERROR(status);
    scalars[scalar.name()] = scalarToJson(scalar, bytes);
  }
  return scalars;
}

Status writeTrainState(const plan::Manifest &manifest,
                       const std::string &folder, const TrainState &state,
                       const Json &scalars) {
  Json json = {{"format", kFormat},
               {"zc_version", manifest.zc_version()},
               {"model", manifest.model_name()},
               {"step", state.step},
               {"seed", state.seed},
               {"shuffle", state.shuffle},
               {"batch", state.batch},
               {"samples", state.samples},
               {"options", textsToJson(state.options)},
               {"compiled", textsToJson(state.compiled)},
               {"scalars", scalars}};
  return writeFile(folder + "/" + kTrainState, seal(std::move(json)));
}

} // namespace

/// The first rank's folder, for all.
static Status shareFolder(World &world, const Status &created,
                          std::string &path) {
  ZC_RETURN_IF_ERROR(world.agree(created));
  int64_t size = int64_t(path.size());
  ZC_RETURN_IF_ERROR(world.all().broadcast(&size, sizeof(size), 0));
  path.resize(size_t(size));
  return world.all().broadcast(path.data(), uint64_t(size), 0);
}

Result<std::string> saveCheckpoint(Executor &executor, const std::string &dir,
                                   const TrainState &state) {
  World &world = executor.world();
  const std::string target = checkpointPath(dir, state.step);
  std::optional<TemporaryFolder> folder;
  std::string path;
  Status status;
  if (world.isFirst()) {
    Result<TemporaryFolder> created = TemporaryFolder::create(target);
    status = created.status();
    if (created.ok()) {
      folder.emplace(std::move(*created));
      path = folder->path();
    }
  }
  ZC_RETURN_IF_ERROR(shareFolder(world, status, path));
  ZC_RETURN_IF_ERROR(checkCopies(executor));
  ZC_RETURN_IF_ERROR(writeGroup(executor, path, kModel));
  ZC_RETURN_IF_ERROR(writeGroup(executor, path, kOptimizer));
  Result<Json> scalars = collectScalars(executor);
  status = scalars.status();
  if (status.ok() && world.isFirst()) {
    status =
        writeTrainState(executor.artifact().manifest(), path, state, *scalars);
    if (status.ok())
      status = folder->moveTo(target);
  }
  ZC_RETURN_IF_ERROR(world.agree(status));
  return target;
}

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
