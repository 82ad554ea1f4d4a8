#include "runtime/Io/DataPaths.h"

#include <filesystem>
#include <glob.h>
#include <sstream>

namespace zc {

static bool exists(const std::string &path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool isPattern(const std::string &path) {
  return path.find_first_of("*?[") != std::string::npos;
}

std::vector<std::string> listPaths(const std::string &text) {
  if (exists(text))
    return {text};
  std::vector<std::string> paths;
  std::istringstream stream(text);
  for (std::string path; std::getline(stream, path, ',');)
    if (!path.empty())
      paths.push_back(path);
  return paths.empty() ? std::vector<std::string>{text} : paths;
}

Result<std::vector<std::string>> expandPath(const std::string &path) {
  if (!isPattern(path) || exists(path))
    return std::vector<std::string>{path};
  std::vector<std::string> files;
  glob_t found = {};
  if (::glob(path.c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (files.empty())
    return makeError(StatusCode::NotFound, "no file matches '", path, "'");
  return files;
}

} // namespace zc
