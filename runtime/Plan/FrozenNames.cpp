#include "runtime/Plan/FrozenNames.h"

namespace zc {

std::string makeFrozenNames(const std::vector<std::string> &names) {
  std::string bytes;
  for (const std::string &name : names)
    bytes += name + '\0';
  return bytes;
}

Result<std::set<std::string>> readFrozenNames(const ZipReader &archive) {
  std::set<std::string> names;
  const ZipEntry *entry = archive.find(kFrozenEntry);
  if (!entry)
    return names;
  ZC_ASSIGN_OR_RETURN(std::string_view bytes, archive.view(*entry));
  while (!bytes.empty()) {
    size_t end = bytes.find('\0');
    if (end == std::string_view::npos)
      return makeError(StatusCode::Corrupt, "the entry '", kFrozenEntry,
                       "' of the artifact is damaged");
    names.emplace(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  return names;
}

} // namespace zc
