#include "runtime/Io/CheckpointSave.h"
#include "runtime/Base/File.h"
#include "runtime/Base/Hash.h"
#include "runtime/Io/Copies.h"
#include "runtime/Io/PartFile.h"
#include "runtime/Io/Scalars.h"

#include <algorithm>
#include <limits>

namespace zc::checkpoint {

namespace {

/// Checksums by tensor, of all files of a group; kUnknown: of one that several
/// parts make.
using Checksums = std::vector<int64_t>;
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

/// Writes parts [first, end) of one file, which other ranks write to as well.
/// `sums` begins with the file's first tensor.
Status writeParts(World &world, const std::string &path,
                  const TensorFile &tensors, const CheckpointLayout &layout,
                  size_t first, size_t end, const PartReader &read,
                  uint64_t chunk, int64_t *sums) {
  if (first == end)
    return Status();
  ZC_ASSIGN_OR_RETURN(PartFile file, PartFile::open(path));
  for (size_t i = first; i < end; ++i) {
    const Part &part = layout.parts()[i];
    StreamedHash sum;
    const bool isWhole = part.bytes == *byteCount(part.tensor->type);
    for (uint64_t at = 0; at < part.bytes; at += chunk) {
      if (world.hasFailed())
        return Status(StatusCode::Cancelled, "another rank failed");
      const uint64_t bytes = std::min(chunk, part.bytes - at);
      ZC_ASSIGN_OR_RETURN(const char *data, read(i, at, bytes));
      ZC_RETURN_IF_ERROR(file.writeAt(part.place + at, data, bytes));
      if (isWhole)
        sum.add({data, bytes});
    }
    if (isWhole)
      sums[tensors.numberOf(*part.tensor)] = int64_t(sum.value());
  }
  return file.sync();
}

/// Checksums are of whole tensors, of which ranks may have parts: they come
/// once all is written, into the place that the header has for them. Those that
/// no rank knows are of what the file has.
Status writeChecksums(const std::string &folder, TensorFile file,
                      const int64_t *sums) {
  const std::string path = folder + "/" + file.name;
  ZC_ASSIGN_OR_RETURN(auto written, MappedFile::open(path));
  std::string_view rest = written->bytes().substr(headerOf(file).size());
  for (size_t i = 0; i < file.entries.size(); ++i) {
    SafetensorsTensor &entry = file.entries[i];
    ZC_ASSIGN_OR_RETURN(const uint64_t size, safetensorsTensorBytes(entry));
    entry.xxh64 = uint64_t(sums[i]);
    if (sums[i] == kUnknown) {
      entry.xxh64 = hashBytes(rest.substr(0, size));
      written->release(rest.substr(0, size));
    }
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

std::string describeTrainState(const plan::Manifest &manifest,
                               const TrainState &state, const Json &scalars) {
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
  if (!state.ways.empty())
    json["ways"] = textsToJson({state.ways.begin(), state.ways.end()});
  return seal(std::move(json));
}

/// The first rank's folder, for all.
Status shareFolder(World &world, const Status &created, std::string &path) {
  ZC_RETURN_IF_ERROR(world.agree(created));
  int64_t size = int64_t(path.size());
  ZC_RETURN_IF_ERROR(world.all().broadcast(&size, sizeof(size), 0));
  path.resize(size_t(size));
  return world.all().broadcast(path.data(), uint64_t(size), 0);
}

} // namespace

CheckpointLayout::CheckpointLayout(Executor &executor) {
  for (const Group *group : {&kModel, &kOptimizer})
    theGroups.push_back({group,
                         divideIntoFiles(executor.artifact().manifest(), *group,
                                         size_t(executor.world().size())),
                         {}});
  for (GroupFiles &group : theGroups) {
    for (const TensorFile &file : group.files) {
      group.firstPart.push_back(theParts.size());
      std::vector<Part> own = listOwnParts(executor, file);
      theParts.insert(theParts.end(), own.begin(), own.end());
    }
    group.firstPart.push_back(theParts.size());
  }
}

Result<CheckpointSave> CheckpointSave::begin(Executor &executor,
                                             const CheckpointLayout &layout,
                                             const std::string &dir,
                                             const TrainState &state) {
  World &world = executor.world();
  CheckpointSave save(layout);
  save.target = checkpointPath(dir, state.step);
  Status status;
  if (world.isFirst()) {
    Result<TemporaryFolder> created = TemporaryFolder::create(save.target);
    status = created.status();
    if (created.ok()) {
      save.folder.emplace(std::move(*created));
      save.path = save.folder->path();
    }
  }
  ZC_RETURN_IF_ERROR(shareFolder(world, status, save.path));
  ZC_RETURN_IF_ERROR(checkCopies(executor));
  Result<Json> scalars = collectScalars(executor);
  ZC_RETURN_IF_ERROR(world.agree(scalars.status()));
  if (world.isFirst())
    save.trainState =
        describeTrainState(executor.artifact().manifest(), state, *scalars);
  return save;
}

/// The files of a group and their index. Each file is created by one rank, then
/// filled by all, and then given its checksums by that one.
Status CheckpointSave::writeGroup(World &world,
                                  const CheckpointLayout::GroupFiles &group,
                                  const PartReader &read, uint64_t chunk,
                                  Communicator *through) const {
  const std::vector<TensorFile> &files = group.files;
  const size_t rank = size_t(world.rank());
  Status created;
  if (rank < files.size()) {
    std::string header = headerOf(files[rank]);
    created = PartFile::create(path + "/" + files[rank].name, header,
                               header.size() + files[rank].bytes);
  }
  ZC_RETURN_IF_ERROR(world.agree(created, nullptr, through));
  std::vector<size_t> firstSum = {0};
  for (const TensorFile &file : files)
    firstSum.push_back(firstSum.back() + file.entries.size());
  Checksums sums(firstSum.back(), kUnknown);
  Status written;
  for (size_t i = 0; written.ok() && i < files.size(); ++i) {
    const size_t at = (rank + i) % files.size();
    written = writeParts(world, path + "/" + files[at].name, files[at], *layout,
                         group.firstPart[at], group.firstPart[at + 1], read,
                         chunk, sums.data() + firstSum[at]);
  }
  if (written.ok() && world.isFirst())
    written = writeIndex(path, *group.group, files);
  // At most one rank knows the checksum of a tensor.
  ZC_RETURN_IF_ERROR(world.agree(written, &sums, through));
  Status summed;
  if (rank < files.size())
    summed = writeChecksums(path, files[rank], sums.data() + firstSum[rank]);
  return world.agree(summed, nullptr, through);
}

/// The first rank's last act, after which the checkpoint is there.
Status CheckpointSave::finish() {
  ZC_RETURN_IF_ERROR(writeFile(path + "/" + kTrainState, trainState));
  return folder->moveTo(target);
}

Result<std::string> CheckpointSave::write(World &world, const PartReader &read,
                                          uint64_t chunk,
                                          Communicator *through) {
  for (const CheckpointLayout::GroupFiles &group : layout->groups())
    ZC_RETURN_IF_ERROR(writeGroup(world, group, read, chunk, through));
  ZC_RETURN_IF_ERROR(
      world.agree(world.isFirst() ? finish() : Status(), nullptr, through));
  return target;
}

} // namespace zc::checkpoint
