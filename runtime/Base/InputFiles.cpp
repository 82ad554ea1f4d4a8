#include "runtime/Base/InputFiles.h"

#include <filesystem>
#include <optional>
#include <sys/stat.h>

namespace zc {

namespace fs = std::filesystem;

/// Device and inode; links are followed.
static std::optional<std::pair<uint64_t, uint64_t>>
identify(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return std::nullopt;
  return std::pair<uint64_t, uint64_t>(info.st_dev, info.st_ino);
}

void InputFiles::add(const std::string &path) {
  if (auto identity = identify(path))
    names.emplace(*identity, path);
}

void InputFiles::addFolder(const std::string &path) {
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(path, error))
    add(entry.path().string());
}

Status InputFiles::check(const std::string &option,
                         const std::string &output) const {
  auto identity = identify(output);
  auto found = identity ? names.find(*identity) : names.end();
  if (found == names.end())
    return Status();
  return makeError(
      StatusCode::InvalidArgument, option, " '", output, "' would replace ",
      found->second == output ? "a file that is read"
                              : "'" + found->second + "', which is read",
      "; choose another name");
}

} // namespace zc
