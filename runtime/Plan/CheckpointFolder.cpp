#include "runtime/Plan/CheckpointFolder.h"
#include "runtime/Base/File.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace zc {

namespace fs = std::filesystem;
using namespace checkpoint;

/// N of "step-N", or -1.
static int64_t stepOf(const std::string &name) {
  const std::string prefix = kStatePrefix;
  if (name.rfind(prefix, 0) != 0)
    return -1;
  int64_t step = -1;
  const char *begin = name.data() + prefix.size();
  const char *end = name.data() + name.size();
  auto [stop, error] = std::from_chars(begin, end, step);
  return error == std::errc() && stop == end && begin != end ? step : -1;
}

/// "DIR/step-N/" is "DIR/step-N".
static std::string withoutLastSlash(const std::string &path) {
  fs::path place = fs::path(path).lexically_normal();
  if (!place.has_filename() && place.has_relative_path())
    place = place.parent_path();
  return place.string();
}

bool isCheckpoint(const std::string &path) {
  std::error_code error;
  return fs::exists(fs::path(path) / kTrainState, error) &&
         fs::exists(fs::path(path) / kModelIndex, error);
}

std::string checkpointPath(const std::string &dir, int64_t step) {
  return dir + "/" + kStatePrefix + std::to_string(step);
}

std::string checkpointFolder(const std::string &path) {
  std::string folder = withoutLastSlash(path);
  if (!isCheckpoint(folder))
    return folder;
  // A folder that is named from within has no parent in its name.
  std::string name = fs::path(folder).filename().string();
  std::error_code error;
  if (name == "." || name == "..")
    folder = fs::canonical(folder, error).string();
  return parentPath(folder);
}

std::vector<int64_t> listCheckpoints(const std::string &dir) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(dir, error)) {
    int64_t step = stepOf(entry.path().filename().string());
    if (step >= 0 && isCheckpoint(entry.path().string()))
      steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string findForeign(const std::string &dir) {
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(dir, error))
    if (stepOf(entry.path().filename().string()) >= 0 &&
        !isCheckpoint(entry.path().string()))
      return entry.path().filename().string();
  return "";
}

bool holdsNoCheckpoint(const std::string &path) {
  std::string folder = withoutLastSlash(path);
  // DIR/step-N that is not there was meant to be.
  if (isCheckpoint(folder) || stepOf(fs::path(folder).filename().string()) >= 0)
    return false;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error))
    if (stepOf(entry.path().filename().string()) >= 0)
      return false;
  return !error || error == std::errc::no_such_file_or_directory;
}

Result<std::string> findCheckpoint(const std::string &path) {
  std::string folder = withoutLastSlash(path);
  if (isCheckpoint(folder))
    return folder;
  std::vector<int64_t> steps = listCheckpoints(folder);
  if (steps.empty())
    return makeError(StatusCode::NotFound, "there is no checkpoint in '", path,
                     "'; expected ", kStatePrefix, "N folders with ",
                     kTrainState, " and ", kModelIndex);
  return checkpointPath(folder, steps.back());
}

} // namespace zc
