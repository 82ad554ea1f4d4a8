#include "runtime/Driver/SandboxOptions.h"
#include "runtime/Base/File.h"
#include "runtime/Driver/RunOutputs.h"
#include "runtime/Driver/StreamedBatches.h"
#include "runtime/Io/DataPaths.h"
#include "runtime/Plan/CheckpointFolder.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace zc {

namespace {

/// Adds files, a folder, or all files of a pattern: files that match it later
/// stay closed.
void addData(const std::string &data, SandboxPaths &paths) {
  if (data.empty() || data == kStandardInput)
    return;
  for (const std::string &path : listPaths(data)) {
    Result<std::vector<std::string>> files = expandPath(path);
    if (files.ok() && (files->size() > 1 || files->front() != path)) {
      paths.read.insert(paths.read.end(), files->begin(), files->end());
      paths.list.push_back(parentPath(path));
    }
    paths.read.push_back(path);
  }
}

Status addFolder(const std::string &path, SandboxPaths &paths) {
  if (path.empty())
    return Status();
  ZC_RETURN_IF_ERROR(makeDirectories(path));
  paths.write.push_back(path);
  return Status();
}

Status addLog(const std::string &path, SandboxPaths &paths) {
  if (path.empty() || path == kStandardOutput)
    return Status();
  // The artifact's code may have left a link where it could write.
  const int log = ::open(path.c_str(),
                         O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
                             O_NONBLOCK | O_NOFOLLOW,
                         0666);
  if (log < 0 && errno == ELOOP)
    return makeError(StatusCode::InvalidArgument, "--sandbox: log '", path,
                     "' is a link; name the file itself");
  if (log < 0)
    return errnoError("cannot write log '" + path + "'");
  ::close(log);
  paths.write.push_back(path);
  return Status();
}

SandboxPaths begin(const std::string &artifact,
                   const std::vector<std::string> &trusted) {
  SandboxPaths paths;
  paths.read = systemPaths();
  paths.read.push_back(artifact);
  paths.read.insert(paths.read.end(), trusted.begin(), trusted.end());
  return paths;
}

} // namespace

Result<SandboxPaths> pathsOf(const TrainOptions &options,
                             const std::vector<std::string> &trusted) {
  SandboxPaths paths = begin(options.artifact, trusted);
  addData(options.data, paths);
  addData(options.evalData, paths);
  if (!options.initFrom.empty())
    paths.read.push_back(options.initFrom);
  const CheckpointOptions &kept = options.checkpoint;
  if (!kept.place.empty())
    ZC_RETURN_IF_ERROR(addFolder(
        kept.resume ? checkpointFolder(kept.place) : kept.place, paths));
  ZC_RETURN_IF_ERROR(addFolder(options.replicas.place, paths));
  ZC_RETURN_IF_ERROR(addFolder(options.tensorboard, paths));
  ZC_RETURN_IF_ERROR(addLog(options.log, paths));
  if (!options.offloadFolder.empty())
    paths.write.push_back(options.offloadFolder);
  return paths;
}

Result<SandboxPaths> pathsOf(const EvalOptions &options,
                             const std::vector<std::string> &trusted) {
  SandboxPaths paths = begin(options.artifact, trusted);
  for (const auto &[name, file] : options.inputs)
    addData(file, paths);
  addData(options.data, paths);
  if (!options.checkpoint.empty())
    paths.read.push_back(options.checkpoint);
  ZC_RETURN_IF_ERROR(addFolder(options.outputDir, paths));
  if (!options.offloadFolder.empty())
    paths.write.push_back(options.offloadFolder);
  return paths;
}

} // namespace zc
