#include "runtime/Plan/WeightFiles.h"
#include "runtime/Base/Hash.h"

namespace zc {

static constexpr const char *kAdvice =
    "; it was compiled with --weights by-reference: put the file back, or "
    "compile the model again";

/// A folder that was moved or copied as a whole has its own file, so the place
/// seen from the artifact comes first.
Result<std::shared_ptr<MappedFile>>
WeightFiles::open(const plan::WeightSource &source) {
  const std::string beside = folder + "/" + source.relative_file();
  std::string reason;
  for (const std::string &path : {beside, source.file()}) {
    auto file = MappedFile::open(path, reading);
    if (!file.ok()) {
      reason = reason.empty() ? file.status().message() : reason;
      continue;
    }
    uint64_t size = (*file)->bytes().size();
    if (size == source.file_bytes())
      return *file;
    return makeError(StatusCode::InvalidArgument, "the weights in '", path,
                     "' are no longer those that were compiled: the file has ",
                     size, " bytes, not ", source.file_bytes(), kAdvice);
  }
  return makeError(StatusCode::NotFound, "the weights are in '", source.file(),
                   "', or in '", source.relative_file(),
                   "' seen from the artifact, and neither can be read",
                   kAdvice);
}

Result<std::string_view> WeightFiles::read(const plan::WeightSource &source) {
  std::shared_ptr<MappedFile> &file = files[source.file()];
  if (!file) {
    ZC_ASSIGN_OR_RETURN(file, open(source));
  }
  std::string_view whole = file->bytes();
  if (source.offset() > whole.size() ||
      source.length() > whole.size() - source.offset())
    return makeError(StatusCode::Corrupt, "the manifest is damaged: '",
                     source.key(), "' lies outside of its file");
  std::string_view bytes = whole.substr(source.offset(), source.length());
  uint64_t hash = hashBytes(bytes);
  file->release(bytes);
  if (hash != source.xxh64())
    return makeError(StatusCode::InvalidArgument, "the weights of '",
                     source.key(), "' in '", file->path(),
                     "' are no longer those that were compiled: the file has "
                     "changed",
                     kAdvice);
  return bytes;
}

} // namespace zc
