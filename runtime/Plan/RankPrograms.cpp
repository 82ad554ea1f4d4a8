#include "runtime/Plan/RankPrograms.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/ZipWriter.h"

#include <charconv>
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

/// A file in memory that is there as long as it is open or mapped.
Result<Artifact> loadFromMemory(std::string_view bytes) {
  const int file = ::memfd_create("artifact", MFD_CLOEXEC);
  if (file < 0)
    return errnoError("no memory for an artifact");
  Status written = writeAll(file, bytes.data(), bytes.size(), "memory");
  Result<Artifact> artifact =
      written.ok() ? Artifact::load(strCat("/proc/self/fd/", file))
                   : Result<Artifact>(written);
  ::close(file);
  return artifact;
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
  Result<Artifact> found = loadFromMemory(bytes);
  artifact.archive().release(bytes);
  if (!found.ok())
    return found.status().withContext("'" + artifact.path() + "', '" +
                                      entry->name + "'");
  return std::optional<Artifact>(std::move(*found));
}

Status addForRanks(const std::string &path,
                   const std::vector<std::pair<int64_t, std::string>> &others) {
  ZC_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::open(path));
  ZC_ASSIGN_OR_RETURN(ZipWriter out, ZipWriter::create(path));
  for (const ZipEntry &entry : zip.entries()) {
    ZC_ASSIGN_OR_RETURN(std::string_view bytes, zip.view(entry));
    ZC_RETURN_IF_ERROR(out.addBytes(entry.name, bytes));
    zip.release(bytes);
  }
  for (const auto &[ranks, file] : others)
    ZC_RETURN_IF_ERROR(out.addFile(entryOf(ranks), file));
  return out.finish();
}

} // namespace zc
