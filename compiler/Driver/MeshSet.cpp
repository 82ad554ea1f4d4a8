#include "compiler/Driver/MeshSet.h"

#include "compiler/Driver/Children.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/MeshOptions.h"
#include "runtime/Base/File.h"
#include "runtime/Base/LeftOvers.h"
#include "runtime/Plan/RankPrograms.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <set>
#include <unistd.h>

using namespace zc;

std::vector<std::string> zc::splitMeshes(const std::string &meshes) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(meshes).split(parts, kBetweenMeshes);
  std::set<int64_t> counts;
  for (llvm::StringRef part : parts)
    if (const int64_t ranks = countRanks(parseMesh(part.str()));
        !counts.insert(ranks).second)
      throw CLI::ValidationError(
          "--mesh", "two meshes are for " + std::to_string(ranks) +
                        " ranks; a run takes the one that is for as many as "
                        "it has");
  return {parts.begin(), parts.end()};
}

// Removes what it holds, in the end.
namespace {
struct Files {
  std::vector<std::string> paths;
  std::vector<TemporaryName> names; // should a signal end us
  ~Files() {
    for (const std::string &path : paths)
      unlink(path.c_str());
  }
};
} // namespace

// Beside the output, where there is room for it.
static bool reserve(Files &files, const std::string &output) {
  const std::string prefix = llvm::sys::path::filename(output).str() + ".mesh";
  const std::string folder = parentPath(output);
  clearLeftOver(folder, prefix);
  std::string path = folder + "/" + ownPrefix(prefix) + "XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0)
    return false;
  close(file);
  files.names.emplace_back(path);
  files.paths.push_back(path);
  return true;
}

int zc::compileForMeshes(const std::vector<CompileOptions> &meshes) {
  const CompileOptions &first = meshes.front();
  Files files;
  std::vector<std::pair<int64_t, std::string>> others;
  for (size_t i = 1; i < meshes.size(); ++i) {
    if (!reserve(files, first.output))
      return reportError("cannot write beside '" + first.output + "'");
    others.emplace_back(countRanks(meshes[i].mesh), files.paths.back());
  }
  int failed = 0;
  std::string verdicts;
  runInChildren(
      others.size(), /*atOnce=*/1, std::numeric_limits<double>::infinity(),
      others.size(),
      [&](size_t piece) {
        CompileOptions options = meshes[piece + 1];
        options.output = others[piece].second;
        options.quiet = true;
        std::string verdict;
        const int code = compile(options, verdict);
        llvm::outs().flush();
        if (code != 0)
          _exit(code);
        return verdict;
      },
      [&](size_t piece, ChildResult result) {
        if (result.ended)
          verdicts += result.text;
        else
          llvm::errs() << result.text;
        failed += !result.ended;
      });
  if (failed)
    return reportError("no artifact was written: see above what the mesh of " +
                       std::to_string(others.front().first) + " ranks lacks");
  if (int code = compile(first))
    return code;
  if (Status added = addForRanks(first.output, others); !added.ok())
    return reportError(added.message());
  std::string counts;
  for (const auto &[ranks, path] : others)
    counts += (counts.empty() ? "" : ", ") + std::to_string(ranks);
  llvm::outs() << verdicts << "zc: and artifacts for " << counts
               << " ranks inside\n";
  return 0;
}
