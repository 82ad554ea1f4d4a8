#include "compiler/Driver/PlanSearch.h"

#include "compiler/Driver/Children.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/CompileChecks.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/ScheduleOptions.h"
#include "runtime/Base/Cores.h"

#include "runtime/Plan/Axes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace zc;

namespace {

/// Exact plans in any case, whatever the time limit.
constexpr size_t kFewestTried = 8;
/// By their estimates, layouts that need more than so many times the room are
/// not tried: the estimate may be wrong by a factor, not by this.
constexpr double kHopeless = 4;

/// The options of a layout.
CompileOptions applyLayout(CompileOptions options, const StepLayout &layout) {
  options.mesh = parseMesh(layout.mesh());
  options.zero = layout.zero;
  options.accumulate = layout.accumulate;
  options.recompute = layout.recompute == "none" ? "" : layout.recompute;
  if (layout.offload != "none")
    options.offload = layout.offload;
  options.schedule = layout.pp > 1 ? layout.schedule : "1f1b";
  options.chunks = layout.chunks;
  options.divideMessages = layout.dividesMessages();
  completeScheduleOptions(options);
  return options;
}

/// In a child: compiles and simulates one layout.
std::string tryLayout(const CLI::App &command, const CompileOptions &options,
                      const Cluster &cluster, const SearchOptions &search,
                      TriedLayout tried) {
  const CompileOptions own = applyLayout(options, tried.layout);
  try {
    checkCompileOptions(command, own);
  } catch (const CLI::ParseError &error) {
    tried.failure = error.what();
    return triedAsText(tried);
  }
  plan::Manifest manifest;
  if (compilePlan(own, manifest) != 0)
    _exit(1); // its messages say why
  Result<PlanReport> report =
      planStep(manifest, cluster, {false, search.placement, {}});
  if (!report.ok())
    tried.failure = report.status().message();
  else
    takeReport(manifest, cluster, *report, tried);
  return triedAsText(tried);
}

/// The figures that all layouts are composed from, found in a child process.
struct Basis {
  LayoutBasis numbers;
  int64_t batch = 0;
  bool hasExperts = false;
};

/// The most samples of a micro-batch on the one rank: enough to compute as fast
/// as with many, few enough that no size overflows.
constexpr int64_t kBasisSamples = 8;

std::string findBasis(const CompileOptions &options, const Cluster &cluster) {
  CompileOptions alone = applyLayout(options, StepLayout());
  int64_t batch = 0;
  if (findBatch(alone, batch) != 0)
    _exit(1);
  int64_t samples = std::min(batch, kBasisSamples);
  while (samples > 1 && batch % samples != 0)
    --samples;
  alone.accumulate = samples > 0 ? batch / samples : 1;
  plan::Manifest manifest;
  if (compilePlan(alone, manifest) != 0)
    _exit(1);
  Result<PlanReport> report = planStep(manifest, cluster);
  if (!report.ok()) {
    llvm::errs() << report.status().message();
    _exit(1);
  }
  LayoutBasis basis = LayoutBasis::of(manifest, *report, cluster);
  basis.activationBytes *= double(alone.accumulate);
  basis.boundaryBytes *= double(alone.accumulate);
  const bool hasExperts =
      llvm::any_of(manifest.settings(), [](const plan::Setting &setting) {
        return llvm::StringRef(setting.name()).starts_with("moe.layer");
      });
  return nlohmann::json{{"seconds", basis.seconds},
                        {"launches", basis.launchSeconds},
                        {"update launches", basis.updateLaunchSeconds},
                        {"call", basis.callSeconds},
                        {"parameters", basis.parameterBytes},
                        {"persistent", basis.persistentBytes},
                        {"optimizer", basis.optimizerBytes},
                        {"activations", basis.activationBytes},
                        {"boundary", basis.boundaryBytes},
                        {"layers", basis.layers},
                        {"batch", manifest.batch()},
                        {"experts", hasExperts}}
      .dump();
}

Result<Basis> takeBasis(const CompileOptions &options, const Cluster &cluster) {
  ChildResult result;
  runInChildren(
      1, 1, 0, 1, [&](size_t) { return findBasis(options, cluster); },
      [&](size_t, ChildResult each) { result = std::move(each); });
  const auto json =
      nlohmann::json::parse(result.text, nullptr, /*allow_exceptions=*/false);
  if (!result.ended || json.is_discarded())
    return Status(StatusCode::InvalidArgument, result.reason());
  Basis basis;
  LayoutBasis &numbers = basis.numbers;
  numbers.seconds = json["seconds"];
  numbers.launchSeconds = json["launches"];
  numbers.updateLaunchSeconds = json["update launches"];
  numbers.callSeconds = json["call"];
  numbers.parameterBytes = json["parameters"];
  numbers.persistentBytes = json["persistent"];
  numbers.optimizerBytes = json["optimizer"];
  numbers.activationBytes = json["activations"];
  numbers.boundaryBytes = json["boundary"];
  numbers.layers = json["layers"];
  basis.batch = json["batch"];
  basis.hasExperts = json["experts"];
  return basis;
}

/// The layouts to search; an option that the command line fixes is no choice.
LayoutSpace makeSpace(const CLI::App &command, const CompileOptions &options,
                      const Cluster &cluster, const SearchOptions &search,
                      const Basis &basis) {
  LayoutSpace space;
  space.batch = basis.batch;
  space.layers = basis.numbers.layers;
  space.neighbours = cluster.levels.front().size;
  space.hasExperts = basis.hasExperts;
  space.ranks = search.ranks ? search.ranks : cluster.size();
  if (command.count("--mesh") > 0) {
    StepLayout &mesh = space.mesh.emplace();
    mesh.pp = options.getAxisSize(axes::kRole);
    mesh.dp = options.getAxisSize(axes::kSample);
    mesh.ep = options.getAxisSize(axes::kExpert);
    mesh.sp = options.getAxisSize(axes::kToken);
    mesh.tp = options.getAxisSize(axes::kTensor);
  }
  if (command.count("--zero") > 0)
    space.zero = {options.zero};
  if (command.count("--accumulate") > 0)
    space.accumulate = {options.accumulate};
  if (command.count("--recompute") > 0)
    space.recompute = {options.recompute.empty() ? "none" : options.recompute};
  // A cluster that does not say how fast its second memory is would make
  // offloading free.
  if (command.count("--offload") > 0)
    space.offload = {options.offload};
  else if (cluster.device.hostBytesPerSecond > 0)
    space.offload = {"none", "optimizer"};
  if (command.count("--schedule") > 0)
    space.schedules = {options.schedule};
  return space;
}

/// Whether a layout offloads what would fit beside all else, by its estimate
/// twice: copies then only cost time.
bool isOffloadedInVain(const StepLayout &layout, const LayoutBasis &basis,
                       const Cluster &cluster) {
  StepLayout staying = layout;
  staying.offload = "none";
  return layout.offload != "none" &&
         2 * estimateLayout(staying, basis, cluster).bytes <
             double(cluster.device.memoryBytes);
}

} // namespace

Result<SearchReport> zc::searchLayouts(const CLI::App &command,
                                       const CompileOptions &options,
                                       const Cluster &cluster,
                                       const SearchOptions &search) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  auto passed = [&] {
    return std::chrono::duration<double>(Clock::now() - began).count();
  };
  ZC_ASSIGN_OR_RETURN(const Basis basis, takeBasis(options, cluster));
  SearchReport report;
  std::vector<TriedLayout> candidates;
  const LayoutSpace space = makeSpace(command, options, cluster, search, basis);
  const double room = double(cluster.device.memoryBytes);
  for (const StepLayout &layout : listLayouts(space)) {
    if (space.offload.size() > 1 &&
        isOffloadedInVain(layout, basis.numbers, cluster))
      continue;
    TriedLayout tried;
    tried.layout = layout;
    tried.estimate = estimateLayout(layout, basis.numbers, cluster);
    candidates.push_back(std::move(tried));
  }
  report.composed = candidates.size();
  // Layouts that should fit come first, the quickest of them in front.
  auto isTooLarge = [&](const TriedLayout &each) {
    return room > 0 && each.estimate.bytes > room;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const TriedLayout &a, const TriedLayout &b) {
                     return std::pair(isTooLarge(a), a.estimate.seconds) <
                            std::pair(isTooLarge(b), b.estimate.seconds);
                   });
  if (room > 0)
    llvm::erase_if(candidates, [&](const TriedLayout &each) {
      return &each - candidates.data() >= ptrdiff_t(kFewestTried) &&
             each.estimate.bytes > kHopeless * room;
    });
  runInChildren(
      candidates.size(), size_t(usableCores()), search.timeLimit - passed(),
      kFewestTried,
      [&](size_t piece) {
        return tryLayout(command, options, cluster, search, candidates[piece]);
      },
      [&](size_t piece, const ChildResult &result) {
        TriedLayout &tried = candidates[piece];
        if (!result.ended || !triedFromText(result.text, tried))
          tried.failure = result.reason();
        report.tried.push_back(tried);
      });
  report.isComplete = report.tried.size() == report.composed;
  report.seconds = passed();
  return report;
}
