#include "runtime/Plan/RankPrograms.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/Safetensors.h"
#include "runtime/Plan/ZipWriter.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace zc {

namespace {

constexpr std::string_view kFolder = "meshes/", kSuffix = ".zca";

std::string entryOf(int64_t ranks) { return strCat(kFolder, ranks, kSuffix); }

/// -1: the entry is none of ours.
int64_t ranksOf(std::string_view name) {
  if (name.size() <= kFolder.size() + kSuffix.size() ||
      name.substr(0, kFolder.size()) != kFolder ||
      name.substr(name.size() - kSuffix.size()) != kSuffix)
    return -1;
  name.remove_prefix(kFolder.size());
  name.remove_suffix(kSuffix.size());
  int64_t ranks = -1;
  auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), ranks);
  return error == std::errc() && end == name.data() + name.size() && ranks > 0
             ? ranks
             : -1;
}

/// By way of a file in memory.
Result<Artifact> loadInside(std::string_view bytes, const Artifact &outer) {
  const int file = ::memfd_create("artifact", MFD_CLOEXEC);
  if (file < 0)
    return errnoError("no memory for an artifact");
  Status written = writeAll(file, bytes.data(), bytes.size(), "memory");
  Result<Artifact> artifact =
      written.ok() ? Artifact::loadInside(strCat("/proc/self/fd/", file), outer)
                   : Result<Artifact>(written);
  ::close(file);
  return artifact;
}

using Tensors = std::vector<SafetensorsTensor>;

Result<Tensors> weightsOf(const ZipReader &zip) {
  const ZipEntry *entry = zip.find(kWeightsEntry);
  if (!entry)
    return Tensors();
  ZC_ASSIGN_OR_RETURN(std::string_view bytes, zip.view(*entry));
  return parseSafetensors(bytes);
}

/// The tensors of `inner` that `outer` has not, or has otherwise.
Tensors listOwn(const Tensors &inner, const Tensors &outer) {
  std::map<std::string_view, const SafetensorsTensor *> byName;
  for (const SafetensorsTensor &tensor : outer)
    byName[tensor.name] = &tensor;
  Tensors own;
  for (const SafetensorsTensor &tensor : inner) {
    auto found = byName.find(tensor.name);
    if (found == byName.end() || found->second->dtype != tensor.dtype ||
        found->second->dims != tensor.dims ||
        found->second->data != tensor.data)
      own.push_back(tensor);
  }
  return own;
}

Status addWeights(ZipWriter &out, const Tensors &tensors) {
  const std::string header = makeSafetensorsHeader(tensors);
  uint64_t size = header.size();
  for (const SafetensorsTensor &tensor : tensors)
    size += tensor.data.size();
  ZC_RETURN_IF_ERROR(out.beginEntry(kWeightsEntry, size));
  ZC_RETURN_IF_ERROR(out.write(header.data(), header.size()));
  for (const SafetensorsTensor &tensor : tensors)
    ZC_RETURN_IF_ERROR(out.write(tensor.data.data(), tensor.data.size()));
  return out.endEntry();
}

/// The artifact in `path` as an entry, without the model, and with the weights
/// that the outer one has not.
Status addInside(ZipWriter &out, int64_t ranks, const std::string &path,
                 const ZipReader &outer, const Tensors &outerWeights) {
  ZC_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::open(path));
  ZC_ASSIGN_OR_RETURN(Tensors weights, weightsOf(zip));
  const Tensors own = listOwn(weights, outerWeights);
  {
    ZC_ASSIGN_OR_RETURN(ZipWriter smaller, ZipWriter::create(path));
    for (const ZipEntry &entry : zip.entries()) {
      // Whoever exports a model does so from the outer one.
      if (entry.name == kModelEntry && outer.find(kModelEntry))
        continue;
      if (entry.name == kWeightsEntry) {
        if (!own.empty())
          ZC_RETURN_IF_ERROR(addWeights(smaller, own));
        continue;
      }
      ZC_ASSIGN_OR_RETURN(std::string_view bytes, zip.view(entry));
      ZC_RETURN_IF_ERROR(smaller.addBytes(entry.name, bytes));
      zip.release(bytes);
    }
    ZC_RETURN_IF_ERROR(smaller.finish());
  }
  return out.addFile(entryOf(ranks), path);
}

} // namespace

Result<std::vector<int64_t>> rankCountsOf(const Artifact &artifact) {
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(artifact.manifest()));
  std::vector<int64_t> counts = {mesh.ranks()};
  for (const ZipEntry &entry : artifact.archive().entries())
    if (const int64_t ranks = ranksOf(entry.name); ranks > 0)
      counts.push_back(ranks);
  return counts;
}

Result<std::optional<Artifact>> findForRanks(const Artifact &artifact,
                                             int64_t ranks) {
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(artifact.manifest()));
  const ZipEntry *entry = artifact.archive().find(entryOf(ranks));
  if (mesh.ranks() == ranks || !entry)
    return std::optional<Artifact>();
  ZC_ASSIGN_OR_RETURN(std::string_view bytes, artifact.archive().view(*entry));
  Result<Artifact> found = loadInside(bytes, artifact);
  artifact.archive().release(bytes);
  if (!found.ok())
    return found.status().withContext("'" + artifact.path() + "', '" +
                                      entry->name + "'");
  return std::optional<Artifact>(std::move(*found));
}

Status addForRanks(const std::string &path,
                   const std::vector<std::pair<int64_t, std::string>> &others) {
  ZC_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::open(path));
  ZC_ASSIGN_OR_RETURN(Tensors weights, weightsOf(zip));
  ZC_ASSIGN_OR_RETURN(ZipWriter out, ZipWriter::create(path));
  for (const ZipEntry &entry : zip.entries()) {
    ZC_ASSIGN_OR_RETURN(std::string_view bytes, zip.view(entry));
    ZC_RETURN_IF_ERROR(out.addBytes(entry.name, bytes));
    zip.release(bytes);
  }
  for (const auto &[ranks, file] : others)
    ZC_RETURN_IF_ERROR(addInside(out, ranks, file, zip, weights));
  return out.finish();
}

} // namespace zc
