#include "compiler/Driver/PlanTable.h"

#include "compiler/Driver/Children.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/CompileChecks.h"
#include "compiler/Plan/PlanReport.h"
#include "runtime/Base/Cores.h"
#include "runtime/Plan/Axes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace zc;

static constexpr int kNumStages = 4;

/// In a child.
static std::string measureStage(const CLI::App &command, CompileOptions options,
                                const Cluster &cluster, int zero) {
  options.zero = zero;
  try {
    checkCompileOptions(command, options);
  } catch (const CLI::ParseError &error) {
    return nlohmann::json{{"failure", error.what()}}.dump();
  }
  plan::Manifest manifest;
  if (compilePlan(options, manifest) != 0)
    _exit(1);
  Result<PlanReport> report = planStep(manifest, cluster);
  if (!report.ok())
    return nlohmann::json{{"failure", report.status().message()}}.dump();
  uint64_t initial = 0;
  for (const PlannedRole &role : report->roles)
    initial = std::max(initial, role.memory.persistentBytes);
  return nlohmann::json{
      {"initial", initial},
      {"peak", report->roles[size_t(report->largestRole)].memory.peak},
      {"parameters", report->parameters},
      {"batch", manifest.batch()}}
      .dump();
}

static StateRow makeRow(int zero, double parameters, int64_t ranks,
                        int64_t shares, const Cluster &cluster) {
  StateRow row;
  row.zero = zero;
  row.ranks = ranks;
  row.nodes = cluster.nodesOf(ranks);
  row.parameters = parameters;
  row.states = parameters * stateBytes(zero, shares);
  return row;
}

std::vector<StateRow> zc::makeStateTable(double parameters, int64_t ranks,
                                         const Cluster &cluster) {
  std::vector<StateRow> rows;
  for (int zero = 0; zero < kNumStages; ++zero)
    rows.push_back(makeRow(zero, parameters, ranks, ranks, cluster));
  return rows;
}

std::vector<StateRow> zc::makeStateTable(const CLI::App &command,
                                         const CompileOptions &options,
                                         const Cluster &cluster) {
  std::vector<StateRow> rows(kNumStages);
  const int64_t ranks = options.getNumRanks();
  // The other axes divide states in any stage.
  const int64_t shares =
      options.getAxisSize(axes::kSample) * options.getAxisSize(axes::kToken);
  runInChildren(
      kNumStages, size_t(usableCores()), 0, kNumStages,
      [&](size_t zero) {
        return measureStage(command, options, cluster, int(zero));
      },
      [&](size_t zero, const ChildResult &result) {
        const auto json = nlohmann::json::parse(result.text, nullptr,
                                                /*allow_exceptions=*/false);
        const bool isSound = result.ended && json.is_object();
        const double parameters = isSound ? json.value("parameters", 0.0) : 0.0;
        StateRow &row = rows[zero];
        row = makeRow(int(zero), parameters, ranks, shares, cluster);
        row.states /= double(ranks) / double(shares);
        if (!isSound) {
          row.failure = result.reason();
          return;
        }
        row.failure = json.value("failure", "");
        row.batch = json.value("batch", int64_t(0));
        row.initialMemory = json.value("initial", 0.0);
        row.trainingMemory = json.value("peak", 0.0);
      });
  return rows;
}
