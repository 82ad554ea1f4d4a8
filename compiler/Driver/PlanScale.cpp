#include "compiler/Driver/PlanScale.h"

#include "compiler/Driver/Children.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/MeshOptions.h"
#include "runtime/Base/Cores.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace zc;

namespace {

/// "dp=1,2,4", read.
struct AxisSizes {
  std::string axis;
  std::vector<int64_t> sizes;
};

/// A message where the text is none of these; each size is checked as that of a
/// mesh is.
std::string readSizes(llvm::StringRef text, AxisSizes &read) {
  auto [axis, list] = text.split('=');
  llvm::SmallVector<llvm::StringRef> sizes;
  list.split(sizes, ',');
  read.axis = axis.str();
  for (llvm::StringRef size : sizes) {
    const std::string mesh = (axis + "=" + size).str();
    if (std::string wrong = checkMesh(mesh); !wrong.empty())
      return "one axis and its sizes, as in dp=1,2,4: " + wrong;
    const int64_t number = parseMesh(mesh).front().size;
    if (llvm::is_contained(read.sizes, number))
      return "size " + size.str() + " comes twice";
    read.sizes.push_back(number);
  }
  return "";
}

std::string checkScale(const std::string &text) {
  AxisSizes read;
  return readSizes(text, read);
}

/// The arguments of one row.
CompileArguments argumentsOf(const ScaleOptions &scale, const AxisSizes &sizes,
                             CompileArguments arguments, int64_t size) {
  arguments.mesh += (arguments.mesh.empty() ? "" : ",") + sizes.axis + "=" +
                    std::to_string(size);
  if (scale.growsBatch)
    arguments.options.batch =
        arguments.options.batch / sizes.sizes.front() * size;
  return arguments;
}

void checkAxisIsFree(const AxisSizes &sizes,
                     const CompileArguments &arguments) {
  for (const MeshAxis &axis : parseMesh(arguments.mesh))
    if (axis.name == sizes.axis)
      throw CLI::ValidationError("--scale", "says the sizes of " + sizes.axis +
                                                "; leave it out of --mesh");
}

/// A batch that grows is given for the first size, which divides it.
void checkBatch(const AxisSizes &sizes, const CompileArguments &arguments) {
  const std::string first =
      sizes.axis + "=" + std::to_string(sizes.sizes.front());
  const int64_t batch = arguments.options.batch;
  if (batch == 0)
    throw CLI::ValidationError("--scale-batch",
                               "give the batch on " + first + " by --batch");
  if (batch % sizes.sizes.front() != 0)
    throw CLI::ValidationError("--scale-batch", "the batch on " + first + ", " +
                                                    std::to_string(batch) +
                                                    ", is no multiple of that");
  const int64_t most = *llvm::max_element(sizes.sizes);
  if (batch / sizes.sizes.front() > INT64_MAX / most)
    throw CLI::ValidationError("--scale-batch", "no such batch can be counted");
}

/// `others`: ranks of the axes that stay.
void checkRoom(const AxisSizes &sizes, int64_t others, const Cluster &cluster) {
  const int64_t most = *llvm::max_element(sizes.sizes);
  if (most > INT64_MAX / others)
    throw CLI::ValidationError("--scale",
                               sizes.axis + "=" + std::to_string(most) +
                                   ": more ranks than can be counted");
  if (Status status = cluster.checkRoom(most * others); !status.ok())
    throw CLI::ValidationError("--scale", sizes.axis + "=" +
                                              std::to_string(most) + ": " +
                                              status.message());
}

/// In a child.
std::string planRow(CompileArguments arguments, const Cluster &cluster,
                    const std::vector<std::string> &placement,
                    const CompleteArguments &complete) {
  using Json = nlohmann::json;
  try {
    complete(arguments);
  } catch (const CLI::ParseError &error) {
    return Json{{"failure", error.what()}}.dump();
  }
  plan::Manifest manifest;
  if (compilePlan(arguments.options, manifest) != 0)
    _exit(1); // its messages say why
  Result<PlanReport> report =
      planStep(manifest, cluster, {false, placement, {}});
  if (!report.ok())
    return Json{{"failure", report.status().message()}}.dump();
  ScaleRow row;
  takeReport(*report, manifest.batch(), row);
  return Json{{"ranks", row.ranks},
              {"batch", row.batch},
              {"step", row.stepSeconds},
              {"samples", row.samplesPerSecond},
              {"tokens", row.tokensPerSecond},
              {"peak", row.peak},
              {"fits", row.fits}}
      .dump();
}

void takeRow(const ChildResult &result, ScaleRow &row) {
  const auto json =
      nlohmann::json::parse(result.text, nullptr, /*allow_exceptions=*/false);
  if (!result.ended || !json.is_object()) {
    row.failure = result.reason();
    return;
  }
  row.failure = json.value("failure", "");
  row.batch = json.value("batch", int64_t(0));
  row.stepSeconds = json.value("step", 0.0);
  row.samplesPerSecond = json.value("samples", 0.0);
  row.tokensPerSecond = json.value("tokens", 0.0);
  row.peak = json.value("peak", 0.0);
  row.fits = json.value("fits", true);
}

} // namespace

void zc::addScaleOptions(CLI::App &command, ScaleOptions &options) {
  command.add_flag("--scale-batch", options.growsBatch,
                   "with --scale, the batch grows with the axis: --batch is "
                   "that of the first size. By default it stays");
  command
      .add_option("--scale", options.sizes,
                  "plan the model with each of these sizes of an axis of the "
                  "mesh, and print nodes, ranks, time, speed-up and "
                  "efficiency, beside the first, as one table")
      ->check(checkScale)
      ->type_name("AXIS=N,N,...")
      ->default_str("");
}

ScaleTable zc::makeScaleTable(const ScaleOptions &scale,
                              const CompileArguments &arguments,
                              const Cluster &cluster,
                              const std::vector<std::string> &placement,
                              const CompleteArguments &complete) {
  AxisSizes sizes;
  readSizes(scale.sizes, sizes);
  checkAxisIsFree(sizes, arguments);
  if (scale.growsBatch)
    checkBatch(sizes, arguments);
  const int64_t others = countRanks(parseMesh(arguments.mesh));
  checkRoom(sizes, others, cluster);
  ScaleTable table;
  table.model = llvm::sys::path::stem(arguments.options.model).str();
  table.cluster = cluster.name;
  table.axis = sizes.axis;
  table.rows.resize(sizes.sizes.size());
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ScaleRow &row = table.rows[i];
    row.size = sizes.sizes[i];
    row.ranks = row.size * others;
    row.nodes = cluster.nodesOf(row.ranks);
  }
  runInChildren(
      table.rows.size(), size_t(usableCores()), 0, table.rows.size(),
      [&](size_t row) {
        return planRow(
            argumentsOf(scale, sizes, arguments, table.rows[row].size), cluster,
            placement, complete);
      },
      [&](size_t row, const ChildResult &result) {
        takeRow(result, table.rows[row]);
      });
  return table;
}
