#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/Safetensors.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"
#include "runtime/Plan/ZipFormat.h"

#include <algorithm>
#include <google/protobuf/stubs/logging.h>
#include <map>

namespace zc {

/// Whether the user gives a model that was not compiled.
static bool isModel(const std::string &path) {
  const std::string ending = ".onnx";
  return path.size() > ending.size() &&
         path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

Result<Artifact> Artifact::check(std::shared_ptr<Contents> contents,
                                 bool checkWeights) {
  auto read = [&]() -> Status {
    ZC_RETURN_IF_ERROR(contents->readManifest());
    ZC_RETURN_IF_ERROR(verifyManifest(contents->manifest));
    ZC_RETURN_IF_ERROR(contents->checkEntries());
    return contents->locateWeights(checkWeights);
  };
  if (Status status = read(); !status.ok())
    return status.withContext("'" + contents->zip.path() + "'");
  return Artifact(std::move(contents));
}

Result<Artifact> Artifact::load(const std::string &path, bool checkWeights,
                                Reading reading) {
  Result<ZipReader> opened = ZipReader::open(path, reading);
  if (!opened.ok() && opened.status().code() == StatusCode::Corrupt &&
      isModel(path))
    return makeError(StatusCode::InvalidArgument, "'", path,
                     "' is a model, and an artifact is wanted, which zc "
                     "compile makes of it: zc compile ",
                     path, " --loss ...");
  ZC_ASSIGN_OR_RETURN(ZipReader zip, std::move(opened));
  return check(std::make_shared<Contents>(std::move(zip), reading),
               checkWeights);
}

Result<Artifact> Artifact::loadInside(const std::string &path,
                                      const Artifact &outer) {
  ZC_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::open(path, Reading::Copied));
  auto contents = std::make_shared<Contents>(std::move(zip), Reading::Copied);
  contents->outer = outer.contents;
  return check(std::move(contents), /*checkWeights=*/true);
}

Artifact Artifact::forRole(int role) const {
  assert(role >= 0 && role < manifest().roles_size() && "no such role");
  Artifact view = *this;
  view.theRole = role;
  return view;
}

Status Artifact::Contents::readManifest() {
  const ZipEntry *entry = zip.find(kManifestEntry);
  if (!entry)
    return makeError(StatusCode::InvalidArgument,
                     "not an artifact of zc: it has no entry '", kManifestEntry,
                     "'");
  if (entry->size > INT32_MAX)
    return makeError(StatusCode::Corrupt, "its manifest is impossibly large");
  ZC_ASSIGN_OR_RETURN(std::string bytes, zip.read(*entry));
  // The library would print to stderr what the message below says.
  auto *handler = google::protobuf::SetLogHandler(nullptr);
  bool parsed = manifest.ParseFromString(bytes);
  google::protobuf::SetLogHandler(handler);
  if (!parsed)
    return makeError(StatusCode::Corrupt, "its manifest cannot be parsed");
  return Status();
}

Status Artifact::Contents::checkEntries() const {
  for (const auto *list :
       {&manifest.target().code(), &manifest.target().host_code()})
    for (const plan::CodeObject &object : *list) {
      const ZipEntry *entry = zip.find(object.entry());
      if (!entry || entry->method != zip::kStored)
        return makeError(StatusCode::Corrupt, "its code object '",
                         object.entry(), "' is missing or compressed");
    }
  return Status();
}

std::vector<FileTensor> Artifact::Contents::tensorsWithSource() const {
  std::vector<FileTensor> tensors;
  for (const plan::Role &role : manifest.roles())
    for (const plan::State &state : role.states())
      for (FileTensor &tensor : fileTensorsOf(state))
        if (tensor.source())
          tensors.push_back(std::move(tensor));
  return tensors;
}

Status Artifact::Contents::locateWeights(bool check) {
  std::vector<FileTensor> needed = tensorsWithSource();
  auto inside = std::stable_partition(needed.begin(), needed.end(),
                                      [](const FileTensor &tensor) {
                                        return !tensor.source()->file().empty();
                                      });
  if (check)
    for (auto tensor = needed.begin(); tensor != inside; ++tensor) {
      ZC_ASSIGN_OR_RETURN(weights[tensor->source()->key()],
                          weightFiles.read(*tensor->source()));
    }
  needed.erase(needed.begin(), inside);
  if (needed.empty())
    return Status();
  // Its own come before those of the artifact that it lies in.
  std::vector<SafetensorsTensor> tensors;
  for (const Contents *each = this; each; each = each->outer.get()) {
    const ZipEntry *entry = each->zip.find(kWeightsEntry);
    if (!entry)
      continue;
    if (check)
      ZC_RETURN_IF_ERROR(each->zip.view(*entry).status());
    if (entry->method != zip::kStored)
      return makeError(StatusCode::Corrupt, "its entry '", kWeightsEntry,
                       "' is missing or compressed");
    ZC_ASSIGN_OR_RETURN(std::vector<SafetensorsTensor> more,
                        parseSafetensors(entry->data));
    tensors.insert(tensors.end(), more.begin(), more.end());
  }
  if (tensors.empty())
    return makeError(StatusCode::Corrupt, "its entry '", kWeightsEntry,
                     "' is missing or compressed");
  std::map<std::string_view, const SafetensorsTensor *> byName;
  for (const SafetensorsTensor &tensor : tensors)
    byName.emplace(tensor.name, &tensor);
  for (const FileTensor &wanted : needed) {
    auto found = byName.find(wanted.source()->key());
    if (found == byName.end())
      return makeError(StatusCode::Corrupt, "it lacks the weights of '",
                       wanted.name(), "'");
    const SafetensorsTensor &tensor = *found->second;
    const plan::TensorType stored = wanted.storedType();
    if (tensor.dtype != safetensorsTypeName(stored.dtype()) ||
        tensor.data.size() != *byteCount(stored))
      return makeError(StatusCode::Corrupt, "the weights of '", wanted.name(),
                       "' are ", tensor.dtype, " ", printDims(tensor.dims),
                       ", not ", printType(stored));
    weights.emplace(tensor.name, tensor.data);
  }
  return Status();
}

uint64_t Artifact::fingerprint() const {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  auto add = [&](std::string_view bytes) {
    for (unsigned char byte : bytes)
      hash = (hash ^ byte) * 0x100000001b3;
  };
  auto addEntry = [&](const ZipEntry &entry) {
    add(strCat(entry.name, ' ', entry.size, ' ', entry.crc, '\n'));
  };
  for (const ZipEntry &entry : archive().entries())
    addEntry(entry);
  for (const Contents *outer = contents->outer.get(); outer;
       outer = outer->outer.get())
    if (const ZipEntry *weights = outer->zip.find(kWeightsEntry))
      addEntry(*weights);
  return hash;
}

const plan::Program *Artifact::program(std::string_view name) const {
  for (const plan::Program &program : role().programs())
    if (program.name() == name)
      return &program;
  return nullptr;
}

std::string_view Artifact::initialBytes(const plan::State &state) const {
  return initialBytes(fileTensorsOf(state).front());
}

std::string_view Artifact::initialBytes(const FileTensor &tensor) const {
  if (!tensor.source())
    return std::string_view();
  auto found = contents->weights.find(tensor.source()->key());
  return found != contents->weights.end() ? found->second : std::string_view();
}

Result<std::optional<std::string_view>>
Artifact::referred(std::string_view key) const {
  auto read = [&](const plan::WeightSource &source)
      -> Result<std::optional<std::string_view>> {
    ZC_ASSIGN_OR_RETURN(std::string_view bytes,
                        contents->weightFiles.read(source));
    return std::optional<std::string_view>(bytes);
  };
  for (const plan::WeightSource &source : manifest().references())
    if (source.key() == key)
      return read(source);
  for (const FileTensor &tensor : contents->tensorsWithSource())
    if (const plan::WeightSource *source = tensor.source();
        source->key() == key && !source->file().empty())
      return read(*source);
  return std::optional<std::string_view>();
}

InputFiles Artifact::files() const {
  InputFiles files;
  files.add(path());
  auto add = [&](const plan::WeightSource &source) {
    if (source.file().empty())
      return;
    files.add(parentPath(path()) + "/" + source.relative_file());
    files.add(source.file());
  };
  for (const plan::WeightSource &source : manifest().references())
    add(source);
  for (const FileTensor &tensor : contents->tensorsWithSource())
    add(*tensor.source());
  return files;
}

Result<std::string_view> Artifact::code(const plan::CodeObject &object) const {
  const ZipEntry *entry = archive().find(object.entry());
  assert(entry && "entries are checked when the artifact is loaded");
  return archive().view(*entry);
}

} // namespace zc
