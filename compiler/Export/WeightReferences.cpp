//===- WeightReferences.cpp - weights stay in their files -----------------===//
#include "compiler/Export/WeightReferences.h"

#include "runtime/Base/File.h"
#include "runtime/Base/Hash.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <filesystem>
#include <map>

using namespace mlir;

namespace zc {

namespace fs = std::filesystem;

bool isReferenced(const ExportInput &input, train::StateOp state) {
  return input.weightsByReference && state.getSource() &&
         !state.getSource()->contains("transposed");
}

bool isReferenced(const ExportInput &input, const StoredTensor &tensor) {
  return input.weightsByReference && !tensor.file.empty() && !tensor.transposed;
}

namespace {
class References {
public:
  References(const std::string &modelFolder, const std::string &artifact)
      : modelFolder(modelFolder), artifactFolder(parentPath(artifact)) {}

  /// Fills in all but the key.
  Status add(const std::string &file, uint64_t offset, uint64_t length,
             plan::WeightSource &source);

private:
  struct File {
    std::shared_ptr<MappedFile> mapped;
    std::string absolute, relative;
  };
  Result<File> open(const std::string &file) const;

  fs::path modelFolder, artifactFolder;
  std::map<std::string, File> files;
};
} // namespace

Result<References::File> References::open(const std::string &file) const {
  File opened;
  std::error_code error;
  fs::path path = fs::canonical(modelFolder / file, error);
  fs::path folder = error ? fs::path() : fs::canonical(artifactFolder, error);
  if (error)
    return makeError(StatusCode::IoError, "cannot refer to '", file,
                     "': ", error.message());
  opened.absolute = path.string();
  opened.relative = path.lexically_relative(folder).string();
  ZC_ASSIGN_OR_RETURN(opened.mapped, MappedFile::open(opened.absolute));
  return opened;
}

Status References::add(const std::string &file, uint64_t offset,
                       uint64_t length, plan::WeightSource &source) {
  auto found = files.find(file);
  if (found == files.end()) {
    ZC_ASSIGN_OR_RETURN(File opened, open(file));
    found = files.emplace(file, std::move(opened)).first;
  }
  const File &entry = found->second;
  std::string_view whole = entry.mapped->bytes();
  if (offset > whole.size() || length > whole.size() - offset)
    return makeError(StatusCode::Corrupt, "'", entry.absolute, "' has ",
                     whole.size(), " bytes, but bytes ", offset, " to ", offset,
                     " + ", length, " are needed");
  std::string_view bytes = whole.substr(offset, length);
  source.set_file(entry.absolute);
  source.set_relative_file(entry.relative);
  source.set_file_bytes(whole.size());
  source.set_offset(offset);
  source.set_length(length);
  source.set_xxh64(hashBytes(bytes));
  entry.mapped->release(bytes);
  return Status();
}

/// Sources by the name of a state, or of a unit's member; several if several
/// roles hold it.
static llvm::StringMap<SmallVector<plan::WeightSource *, 1>>
findSources(plan::Manifest &manifest) {
  llvm::StringMap<SmallVector<plan::WeightSource *, 1>> sources;
  for (plan::Role &role : *manifest.mutable_roles())
    for (plan::State &state : *role.mutable_states()) {
      if (state.has_source())
        sources[state.name()].push_back(state.mutable_source());
      for (plan::UnitMember &member : *state.mutable_members())
        if (member.has_source())
          sources[member.name()].push_back(member.mutable_source());
    }
  return sources;
}

Status addReferences(const ExportInput &input, const std::string &path,
                     plan::Manifest &manifest) {
  References references(input.modelFolder, path);
  auto sources = findSources(manifest);
  // Members of units are states of a nested module.
  SmallVector<train::StateOp> states;
  llvm::StringSet<> seen; // several roles may hold one tensor
  ModuleOp module = input.module;
  module.walk([&](train::StateOp op) {
    if (isReferenced(input, op) && sources.count(op.getSymName()) &&
        seen.insert(op.getSymName()).second)
      states.push_back(op);
  });
  for (train::StateOp op : states) {
    DictionaryAttr place = *op.getSource();
    auto number = [&](StringRef key) {
      return static_cast<uint64_t>(place.getAs<IntegerAttr>(key).getInt());
    };
    for (plan::WeightSource *source : sources[op.getSymName()])
      ZC_RETURN_IF_ERROR(references.add(place.getAs<StringAttr>("file").str(),
                                        number("offset"), number("length"),
                                        *source));
  }
  for (const StoredTensor &tensor : input.tensors) {
    if (!isReferenced(input, tensor))
      continue;
    plan::WeightSource &source = *manifest.add_references();
    source.set_key(tensor.name);
    ZC_RETURN_IF_ERROR(
        references.add(tensor.file, tensor.offset, tensor.length, source));
  }
  return Status();
}

} // namespace zc
