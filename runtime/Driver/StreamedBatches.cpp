#include "runtime/Driver/StreamedBatches.h"
#include "runtime/Driver/Signals.h"
#include "runtime/Plan/ZipFormat.h"

#include <algorithm>
#include <unistd.h>

namespace zc {

static constexpr const char *kName = "standard input";

/// The arrays of a record: the model's inputs in their order, labels last.
static Result<std::vector<std::string>>
listInputs(const plan::Manifest &manifest) {
  std::vector<std::string> inputs, labels;
  auto add = [](std::vector<std::string> &names, const std::string &name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  for (const plan::Role &role : manifest.roles())
    for (const plan::Program &program : role.programs())
      for (const plan::Input &input : program.inputs()) {
        if (input.is_sample_weight())
          continue;
        if (input.batch_dim() < 0)
          return makeError(StatusCode::InvalidArgument, "--data -: the input '",
                           input.name(),
                           "' counts no samples, so that no stream of them can "
                           "feed it; give --data a file");
        add(input.is_label() ? labels : inputs, input.name());
      }
  inputs.insert(inputs.end(), labels.begin(), labels.end());
  return inputs;
}

StreamedBatches::StreamedBatches(World &world, const plan::Manifest &manifest,
                                 std::vector<std::string> names)
    : world(world), inputs(std::move(names)), samples(manifest.batch()),
      stream(STDIN_FILENO, kName, inputs, [] { return stopSignal() != 0; }) {}

Status ownFailure(const Status &status) {
  return status.code() == StatusCode::Cancelled ? Status() : status;
}

Result<std::unique_ptr<StreamedBatches>>
StreamedBatches::open(World &world, const plan::Manifest &manifest) {
  auto inputs = listInputs(manifest);
  Status status = inputs.status();
  if (status.ok() && world.isFirst() && ::isatty(STDIN_FILENO))
    status = makeError(StatusCode::InvalidArgument,
                       "--data -: standard input is a terminal; expected .npy "
                       "arrays, as from a pipe");
  ZC_RETURN_IF_ERROR(world.agree(status));
  std::unique_ptr<StreamedBatches> result(
      new StreamedBatches(world, manifest, std::move(*inputs)));
  Result<bool> read = result->read();
  ZC_RETURN_IF_ERROR(world.agree(ownFailure(read.status())));
  if (!*read && !result->signal())
    return world.agree(makeError(
        StatusCode::InvalidArgument, "--data -: ", kName, " ended after ",
        result->leftOver, " samples; a step takes ", manifest.batch()));
  result->isFresh = *read;
  return result;
}

Result<bool> StreamedBatches::advance() {
  if (!isFresh)
    return read();
  isFresh = false;
  return true;
}

// --- Between ranks: arrays in the order of `inputs`, each as its type, its
// dims and its elements; nothing at the end.

static void pack(std::string &bytes, const NpyArray &array) {
  zip::append<char>(bytes, array.kind);
  zip::append<int32_t>(bytes, array.itemSize);
  zip::append<uint64_t>(bytes, array.dims.size());
  for (int64_t dim : array.dims)
    zip::append<int64_t>(bytes, dim);
  zip::append<uint64_t>(bytes, array.data.size());
  bytes += array.data;
}

template <typename T> static T unpack(const char *&at) {
  at += sizeof(T);
  return zip::load<T>(at - sizeof(T));
}

static NpyArray unpackArray(const char *&at,
                            const std::shared_ptr<const std::string> &owner) {
  NpyArray array;
  array.kind = unpack<char>(at);
  array.itemSize = unpack<int32_t>(at);
  array.dims.resize(unpack<uint64_t>(at));
  for (int64_t &dim : array.dims)
    dim = unpack<int64_t>(at);
  const uint64_t size = unpack<uint64_t>(at);
  array.data = std::string_view(at, size);
  array.owner = owner;
  at += size;
  return array;
}

/// On the rank that reads.
Result<std::string> StreamedBatches::readHere() {
  std::string bytes;
  ZC_ASSIGN_OR_RETURN(auto arrays, stream.read(samples));
  leftOver = arrays ? 0 : stream.left();
  if (arrays)
    for (const std::string &input : inputs)
      pack(bytes, arrays->at(input));
  return bytes;
}

/// All ranks hear whether the one that reads has failed; that is not agreed
/// upon, for then they could not save what they have trained.
Status StreamedBatches::share(std::string &bytes, bool &hasFailed) {
  std::vector<int64_t> told = {int64_t(bytes.size()), leftOver,
                               bytes.empty() ? stopSignal() : 0, hasFailed};
  ZC_RETURN_IF_ERROR(world.all().broadcast(
      told.data(), told.size() * sizeof(told.front()), /*root=*/0));
  bytes.resize(size_t(told[0]));
  leftOver = told[1];
  stoppedBy = told[2];
  hasFailed = told[3] != 0;
  return bytes.empty()
             ? Status()
             : world.all().broadcast(bytes.data(), bytes.size(), /*root=*/0);
}

Result<bool> StreamedBatches::read() {
  Result<std::string> here = world.isFirst() ? readHere() : std::string();
  bool hasFailed = !here.ok();
  auto bytes = std::make_shared<std::string>(here.ok() ? std::move(*here) : "");
  ZC_RETURN_IF_ERROR(share(*bytes, hasFailed));
  ZC_RETURN_IF_ERROR(here.status());
  if (hasFailed)
    return makeError(StatusCode::Cancelled, "the first rank could not read ",
                     kName);
  if (bytes->empty())
    return false;
  std::map<std::string, NpyArray> arrays;
  const char *at = bytes->data();
  for (const std::string &input : inputs)
    arrays.emplace(input, unpackArray(at, bytes));
  batch = std::make_shared<const DataFile>(
      DataFile::ofArrays(kName, std::move(arrays)));
  return true;
}

} // namespace zc
