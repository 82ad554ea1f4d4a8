#include "compiler/Driver/Calibrate.h"
#include "compiler/Driver/ClusterFile.h"
#include "compiler/Driver/ClusterNames.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/CompileArguments.h"
#include "compiler/Driver/CompileChecks.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/OptionRules.h"
#include "compiler/Driver/PlanScale.h"
#include "compiler/Driver/PlanSearch.h"
#include "compiler/Driver/PlanTable.h"
#include "compiler/Driver/TextOutput.h"
#include "compiler/Plan/ChakraTraces.h"
#include "compiler/Plan/CollectiveTable.h"
#include "compiler/Plan/PlanReport.h"
#include "passes/Target/Devices.h"
#include "runtime/Base/File.h"
#include "runtime/Plan/Artifact.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace zc;

namespace {
struct Arguments {
  CompileArguments compile;
  std::string cluster;
  bool forCluster = false;
  double tokens = 0;
  std::string timeline, html, chakra;
  std::vector<std::string> placement;
  std::vector<std::string> stragglers; // "RANK=FACTOR"
  std::string sync;
  ServerOptions servers;
  ScaleOptions scale;
  bool searches = false;
  SearchOptions search;
  bool table = false, maxModel = false, collectives = false;
  double parameters = 0; // in a model's place
  double deviceHours = 0;
  bool calibrates = false;
  CalibrateOptions calibration;
  bool json = false;
};
} // namespace

static bool isArtifact(llvm::StringRef path) {
  return path.ends_with_insensitive(".zca");
}

/// The options of a compilation mean nothing to a plan that is made.
static void refuseCompileOptions(const CLI::App &command) {
  const std::vector<std::string> own = {"--cluster", "--tokens", "--timeline",
                                        "--html",    "--chakra", "--straggler",
                                        "--servers", "--sync",   "--placement",
                                        "--json",    "--help"};
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      if (option->count() > 0 && !llvm::is_contained(own, "--" + name))
        throw CLI::ValidationError(
            "--" + name, "belongs to a model; an artifact is compiled already");
}

/// A plan writes no program: it is proven where that is asked for.
static void addCompilation(CLI::App &command, CompileArguments &arguments) {
  addModelOptions(command, arguments);
  command.get_option("--verify")->default_str("off");
}

/// Models are compiled for the cluster's devices, up to the plan.
static void completeCompilation(const CLI::App &command, Arguments &arguments,
                                const Cluster &cluster) {
  completeOptions(command, arguments.compile);
  CompileOptions &options = arguments.compile.options;
  if (command.count("--target") == 0)
    options.target = cluster.device.target;
  if (arguments.forCluster)
    decideFor(arguments.cluster, cluster, options);
  options.plansOnly = options.quiet = true;
  if (command.count("--verify") == 0)
    options.verify = "off";
}

/// The options that `zc compile` needs besides the given ones to make the
/// program that is planned; empty for an artifact, which is made.
static std::string listMissingOptions(const CLI::App &command,
                                      const Arguments &arguments) {
  const CompileOptions &options = arguments.compile.options;
  if (isArtifact(options.model))
    return "";
  if (arguments.forCluster)
    return "--cluster " + arguments.cluster;
  const bool isDefault = options.target == getDeviceKinds().front().name;
  return command.count("--target") > 0 || isDefault
             ? ""
             : "--target " + options.target;
}

/// The options of one plan, complete and checked.
static void checkCompilation(const CLI::App &command, Arguments &arguments,
                             const Cluster &cluster) {
  completeCompilation(command, arguments, cluster);
  checkCompileOptions(command, arguments.compile.options);
  checkMeshRules(command, arguments.compile.options);
}

/// From an artifact, or a compilation; returns the exit code.
static int makeManifest(const CLI::App &command, Arguments &arguments,
                        const Cluster &cluster, plan::Manifest &manifest) {
  CompileOptions &options = arguments.compile.options;
  if (isArtifact(options.model)) {
    refuseCompileOptions(command);
    Result<Artifact> artifact =
        Artifact::load(options.model, /*checkWeights=*/false);
    if (!artifact.ok())
      return reportError(artifact.status().message());
    manifest = artifact->manifest();
    return 0;
  }
  checkCompilation(command, arguments, cluster);
  return compilePlan(options, manifest);
}

/// Searches layouts for a model; refuses an artifact.
static int searchCommand(const CLI::App &command, Arguments &arguments,
                         const Cluster &cluster) {
  CompileOptions &options = arguments.compile.options;
  if (isArtifact(options.model))
    throw CLI::ValidationError(
        "--search", "compiles a model in many ways; an artifact is compiled "
                    "already");
  if (command.count("--mesh") > 0 && command.count("--ranks") > 0)
    throw CLI::ValidationError("--ranks", "the mesh says how many there are");
  completeCompilation(command, arguments, cluster);
  arguments.search.placement = arguments.placement;
  if (Status status = cluster.checkRoom(arguments.search.ranks); !status.ok())
    throw CLI::ValidationError("--ranks", status.message());
  // Such a cluster is described without end, as `ideal` and `usual-cpu` are.
  constexpr int64_t kMostByDefault = 65536;
  if (command.count("--ranks") == 0 && command.count("--mesh") == 0 &&
      cluster.size() > kMostByDefault)
    throw CLI::ValidationError(
        "--ranks", "say how many of the " + std::to_string(cluster.size()) +
                       " ranks of cluster '" + cluster.name +
                       "' to search for; only a cluster of at most " +
                       std::to_string(kMostByDefault) + " is taken whole");
  Result<SearchReport> report =
      searchLayouts(command, options, cluster, arguments.search);
  if (!report.ok())
    return reportError(report.status().message());
  report->missingOptions = listMissingOptions(command, arguments);
  const int code =
      emitText("", arguments.json ? searchAsJson(*report, cluster) + "\n"
                                  : printSearch(*report, cluster));
  return code != 0 ? code : report->ranking().empty() ? 1 : 0;
}

/// Prints what a device holds, or what collectives cost: no model is compiled.
static int formulaCommand(const CLI::App &command, const Arguments &arguments,
                          const Cluster &cluster) {
  if (arguments.collectives)
    return emitText("", arguments.json ? collectivesAsJson(cluster) + "\n"
                                       : printCollectives(cluster));
  if (command.count("--ranks") == 0)
    throw CLI::ValidationError("--ranks", "says among how many ranks states "
                                          "are divided");
  const int64_t ranks = arguments.search.ranks;
  if (arguments.table) {
    const auto rows = makeStateTable(arguments.parameters, ranks, cluster);
    return emitText("", arguments.json ? stateTableAsJson(rows) + "\n"
                                       : printStateTable(rows));
  }
  if (cluster.device.memoryBytes == 0)
    return reportError("cluster '" + cluster.name +
                       "' does not say what memory a device has");
  return emitText(
      "", arguments.json
              ? maxModelAsJson(cluster, ranks, arguments.parameters) + "\n"
              : printMaxModel(cluster, ranks, arguments.parameters));
}

static int tableCommand(const CLI::App &command, Arguments &arguments,
                        const Cluster &cluster) {
  CompileOptions &options = arguments.compile.options;
  if (isArtifact(options.model))
    throw CLI::ValidationError("--table", "compiles a model for each ZeRO "
                                          "stage; an artifact is compiled "
                                          "already");
  completeCompilation(command, arguments, cluster);
  const auto rows = makeStateTable(command, options, cluster);
  const std::string missing = listMissingOptions(command, arguments);
  const int code =
      emitText("", arguments.json ? stateTableAsJson(rows, missing) + "\n"
                                  : printStateTable(rows, missing));
  const bool isSound = llvm::any_of(
      rows, [](const StateRow &row) { return row.failure.empty(); });
  return code != 0 ? code : !isSound;
}

/// Plans the model on more and more ranks.
static int scaleCommand(const CLI::App &command, Arguments &arguments,
                        const Cluster &cluster) {
  if (isArtifact(arguments.compile.options.model))
    throw CLI::ValidationError("--scale", "compiles a model for each size; an "
                                          "artifact is compiled already");
  Arguments one = arguments; // what is wrong for all sizes ends it at once
  completeCompilation(command, one, cluster);
  ScaleTable table =
      makeScaleTable(arguments.scale, arguments.compile, cluster,
                     arguments.placement, [&](CompileArguments &row) {
                       Arguments own = arguments;
                       own.compile = row;
                       checkCompilation(command, own, cluster);
                       row = own.compile;
                     });
  table.tokens = arguments.tokens;
  table.missingOptions = listMissingOptions(command, one);
  if (!arguments.html.empty())
    if (int code = emitText(arguments.html, scaleTableAsHtml(table)))
      return code;
  const int code = emitText("", arguments.json ? scaleTableAsJson(table) + "\n"
                                               : printScaleTable(table));
  const bool isSound = llvm::any_of(
      table.rows, [](const ScaleRow &row) { return row.failure.empty(); });
  return code != 0 ? code : !isSound;
}

/// Options of the plan of one layout that a table of several has a use for.
static bool isOfScale(llvm::StringRef name) {
  return name == "--tokens" || name == "--html";
}

/// The modes exclude each other, and some need no model.
static void checkTogether(const CLI::App &command, const Arguments &arguments) {
  const bool scales = !arguments.scale.sizes.empty();
  const int modes = arguments.searches + arguments.table + scales +
                    arguments.maxModel + arguments.collectives;
  if (modes > 1)
    throw CLI::ValidationError("--search, --table, --scale, --max-model and "
                               "--collectives exclude one another; give one "
                               "of them");
  if (arguments.scale.growsBatch && !scales)
    throw CLI::ValidationError("--scale-batch", "belongs to --scale");
  const bool needsModel = !arguments.maxModel && !arguments.collectives &&
                          !(arguments.table && arguments.parameters > 0);
  const bool hasModel = !arguments.compile.options.model.empty();
  if (needsModel && !hasModel)
    throw CLI::RequiredError("model");
  if (!needsModel && hasModel)
    throw CLI::ValidationError("model",
                               "--max-model, --collectives and --parameters "
                               "are computed by formulas, without a model");
  if (arguments.parameters > 0 && !arguments.table && !arguments.maxModel)
    throw CLI::ValidationError("--parameters",
                               "belongs to --table and --max-model");
  const bool takesRanks =
      arguments.searches || arguments.maxModel || !needsModel;
  if (command.count("--ranks") > 0 && !takesRanks)
    throw CLI::ValidationError("--ranks", "belongs to --search, --max-model "
                                          "and --table with --parameters; "
                                          "else --mesh says it");
  if (command.count("--time-limit") > 0 && !arguments.searches)
    throw CLI::ValidationError("--time-limit", "belongs to --search");
  if (arguments.table && command.count("--zero") > 0)
    throw CLI::ValidationError("--zero", "--table has a row for each stage");
  if (!arguments.sync.empty() && arguments.servers.servers == 0)
    throw CLI::ValidationError("--sync", "belongs to --servers");
  for (const char *name : {"--tokens", "--timeline", "--html", "--chakra",
                           "--straggler", "--servers"})
    if (modes > 0 && command.count(name) > 0 && !(scales && isOfScale(name)))
      throw CLI::ValidationError(name, "belongs to the plan of one layout");
  if (modes > 0 && !arguments.searches && !scales &&
      command.count("--placement") > 0)
    throw CLI::ValidationError("--placement",
                               "belongs to --search, --scale and the plan of a "
                               "layout");
  if (arguments.forCluster && !needsModel)
    throw CLI::ValidationError("--for-cluster", "belongs to a model, which is "
                                                "compiled for the cluster");
  if (arguments.forCluster && command.count("--placement") > 0)
    throw CLI::ValidationError("--for-cluster",
                               "ranks stand as they are numbered where zc "
                               "compile is given a --cluster; leave out "
                               "--placement");
  if (arguments.compile.options.aggregation == "server")
    throw CLI::ValidationError(
        "--aggregation", "server belongs to zc compile; --servers N plans "
                         "parameter servers");
  if (command.count("--emit") > 0)
    throw CLI::ValidationError("--emit", "belongs to zc compile");
}

/// Nothing but a division: no cluster, and no model.
static int idealTimeCommand(const CLI::App &command,
                            const Arguments &arguments) {
  const std::vector<std::string> own = {"device-hours", "ranks", "json"};
  for (const CLI::Option *option : command.get_options())
    if (option->count() > 0 &&
        (option->get_lnames().empty() ||
         !llvm::is_contained(own, option->get_lnames().front())))
      throw CLI::ValidationError(option->get_name(),
                                 "means nothing to --device-hours, which is "
                                 "divided among --ranks");
  const int64_t ranks =
      command.count("--ranks") > 0 ? arguments.search.ranks : 1;
  return emitText("", arguments.json
                          ? idealTimeAsJson(arguments.deviceHours, ranks) + "\n"
                          : printIdealTime(arguments.deviceHours, ranks));
}

static int calibrateCommand(const CLI::App &command,
                            const Arguments &arguments) {
  const std::vector<std::string> own = {"calibrate", "quick", "output"};
  for (const CLI::Option *option : command.get_options())
    if (option->count() > 0 &&
        (option->get_lnames().empty() ||
         !llvm::is_contained(own, option->get_lnames().front())))
      throw CLI::ValidationError(option->get_name(),
                                 "means nothing to --calibrate, which measures "
                                 "this machine by models of its own");
  return calibrate(arguments.calibration);
}

/// Parses "RANK=FACTOR" texts, which name each rank once.
static std::map<int64_t, double>
readStragglers(const std::vector<std::string> &texts) {
  std::map<int64_t, double> stragglers;
  for (const std::string &text : texts) {
    const auto [rankText, factorText] = llvm::StringRef(text).split('=');
    int64_t rank = 0;
    double factor = 0;
    if (rankText.getAsInteger(10, rank) || rank < 0 ||
        factorText.getAsDouble(factor) || !(factor >= 1 && factor <= 1000))
      throw CLI::ValidationError("--straggler",
                                 "expected RANK=FACTOR, a factor from 1 to "
                                 "1000, found '" +
                                     text + "'");
    if (!stragglers.emplace(rank, factor).second)
      throw CLI::ValidationError("--straggler",
                                 "rank " + rankText.str() + " is given twice");
  }
  return stragglers;
}

static Status writeChakra(const Arguments &arguments, const Cluster &cluster,
                          const plan::Manifest &manifest,
                          const PlanReport &report) {
  ZC_RETURN_IF_ERROR(makeDirectories(arguments.chakra));
  return planAsChakra(manifest, cluster, report, arguments.placement,
                      [&](const std::string &name, const std::string &bytes) {
                        return writeFile(arguments.chakra + "/" + name, bytes);
                      });
}

/// Simulates the step, and writes and prints what is asked for.
static int planLayout(const CLI::App &command, const Arguments &arguments,
                      const Cluster &cluster, const plan::Manifest &manifest) {
  const bool keepsSpans = !arguments.timeline.empty() ||
                          !arguments.html.empty() || !arguments.chakra.empty();
  ServerOptions servers = arguments.servers;
  servers.stragglers = readStragglers(arguments.stragglers);
  servers.isAsynchronous = arguments.sync == "asp";
  Result<PlanReport> report = planStep(
      manifest, cluster, {keepsSpans, arguments.placement, servers.stragglers});
  if (!report.ok())
    return reportError(report.status().message());
  report->missingOptions = listMissingOptions(command, arguments);
  if (servers.servers > 0) {
    Result<ServerPlan> plan = planServers(manifest, cluster, servers);
    if (!plan.ok())
      return reportError(plan.status().message());
    report->servers = *plan;
  }
  if (!arguments.timeline.empty())
    if (int code =
            emitText(arguments.timeline, planAsTimeline(manifest, *report)))
      return code;
  if (!arguments.html.empty())
    if (int code =
            emitText(arguments.html,
                     planAsHtml(manifest, cluster, *report, arguments.tokens)))
      return code;
  if (!arguments.chakra.empty())
    if (Status status = writeChakra(arguments, cluster, manifest, *report);
        !status.ok())
      return reportError(status.message());
  return emitText(
      "", arguments.json
              ? planAsJson(manifest, cluster, *report, arguments.tokens) + "\n"
              : printPlan(manifest, cluster, *report, arguments.tokens));
}

static int planCommand(const CLI::App &command, Arguments &arguments) {
  if (arguments.calibrates)
    return calibrateCommand(command, arguments);
  for (const char *option : {"--quick", "--output"})
    if (command.count(option) > 0)
      throw CLI::ValidationError(option, "belongs to --calibrate");
  if (arguments.deviceHours > 0)
    return idealTimeCommand(command, arguments);
  if (arguments.cluster.empty())
    throw CLI::RequiredError("--cluster");
  checkTogether(command, arguments);
  Result<Cluster> cluster = loadCluster(arguments.cluster);
  if (!cluster.ok())
    return reportError(cluster.status().message());
  if (arguments.compile.options.model.empty())
    return formulaCommand(command, arguments, *cluster);
  if (arguments.searches)
    return searchCommand(command, arguments, *cluster);
  if (arguments.table)
    return tableCommand(command, arguments, *cluster);
  if (!arguments.scale.sizes.empty())
    return scaleCommand(command, arguments, *cluster);
  plan::Manifest manifest;
  if (int code = makeManifest(command, arguments, *cluster, manifest))
    return code;
  return planLayout(command, arguments, *cluster, manifest);
}

/// Adds the options that write files besides the printed plan.
static void addFileOptions(CLI::App &command, Arguments &arguments) {
  command
      .add_option("--timeline", arguments.timeline,
                  "write the simulated step as a trace, for chrome://tracing "
                  "or ui.perfetto.dev")
      ->type_name("FILE");
  command
      .add_option("--html", arguments.html,
                  "write the plan as a page: streams over time, memory; with "
                  "--scale, the table and its curve")
      ->type_name("FILE");
  command
      .add_option("--chakra", arguments.chakra,
                  "write Chakra execution traces of the ranks into a folder, "
                  "and the network for ASTRA-sim")
      ->type_name("DIR");
}

/// Ranks that are not alike, and servers in place of collectives.
static void addServerOptions(CLI::App &command, Arguments &arguments) {
  command
      .add_option("--straggler", arguments.stragglers,
                  "a rank that takes FACTOR times as long for all that it "
                  "computes; may be repeated")
      ->allow_extra_args(false)
      ->type_name("RANK=FACTOR")
      ->default_str("");
  command
      .add_option("--servers", arguments.servers.servers,
                  "also say what a step takes with so many parameter servers "
                  "in place of all-reduces")
      ->check(CLI::Range(int64_t(1), kMostWorkers))
      ->type_name("N")
      ->default_str("");
  command
      .add_option("--sync", arguments.sync,
                  "with --servers: bsp, they wait for all workers (default); "
                  "asp, they update with what comes")
      ->check(CLI::IsMember({"bsp", "asp"}));
}

/// The machines, and whether passes decide by them.
static void addClusterOptions(CLI::App &command, Arguments &arguments) {
  command
      .add_option("--cluster", arguments.cluster,
                  "the machines: a file, or one of " +
                      llvm::join(listPresets(), ", ") +
                      ", here; required but with --calibrate")
      ->type_name("FILE|PRESET");
  command.add_flag("--for-cluster", arguments.forCluster,
                   "plan what zc compile makes if it is given this --cluster, "
                   "too: its rates and links decide what overlaps, how far "
                   "ahead gathers begin, where stages are cut and what is "
                   "computed again. By default those of the usual devices "
                   "decide, as for zc compile without a --cluster");
}

Command zc::addPlanCommand(CLI::App &command) {
  auto arguments = std::make_shared<Arguments>();
  command.add_option(
      "model", arguments->compile.options.model,
      "the model, MODEL.onnx, or an artifact, OUT.zca; none with "
      "--max-model, --collectives and --parameters");
  addClusterOptions(command, *arguments);
  command
      .add_option("--tokens", arguments->tokens,
                  "also say how many days so many tokens take")
      ->check(checkPositive)
      ->type_name("N")
      ->default_str("");
  addFileOptions(command, *arguments);
  command
      .add_option("--placement", arguments->placement,
                  "the mesh's axes, from the outermost machines inwards, as in "
                  "dp,pp,tp; by default ranks stand as they are numbered")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("AXES")
      ->default_str("");
  addServerOptions(command, *arguments);
  command.add_flag("--search", arguments->searches,
                   "compile and simulate layouts (mesh, ZeRO, micro-batches, "
                   "schedule, recomputation; what is given stays) and rank "
                   "those that fit");
  command
      .add_option("--ranks", arguments->search.ranks,
                  "with --search and no --mesh, how many ranks to divide the "
                  "step among (by default the whole cluster); with --max-model "
                  "and --parameters, how many divide the states")
      ->check(checkCount)
      ->type_name("N")
      ->default_str("");
  command
      .add_option("--time-limit", arguments->search.timeLimit,
                  "with --search, seconds after which no layout is begun")
      ->check(checkAmount)
      ->type_name("S");
  command.add_flag("--table", arguments->table,
                   "memory for each ZeRO stage: nodes, batch, parameters, "
                   "after the start, at a step's peak, by formula");
  addScaleOptions(command, arguments->scale);
  command.add_flag("--max-model", arguments->maxModel,
                   "the largest model whose states fit, for each ZeRO stage");
  command
      .add_option("--parameters", arguments->parameters,
                  "with --table, so many in a model's place; with --max-model, "
                  "say how many ranks they need")
      ->check(checkPositive)
      ->type_name("N")
      ->default_str("");
  command
      .add_option("--device-hours", arguments->deviceHours,
                  "how long so many hours of one device's work take on --ranks "
                  "[1] devices, without any loss")
      ->check(checkPositive)
      ->type_name("H")
      ->default_str("");
  command.add_flag("--collectives", arguments->collectives,
                   "compare algorithms of all-reduce: rounds, bytes and time, "
                   "and the sizes at which the quickest changes");
  command.add_flag("--calibrate", arguments->calibrates,
                   "measure this machine by training small models, and write "
                   "it as the cluster here");
  command.add_flag("--quick", arguments->calibration.quick,
                   "with --calibrate, in seconds, for a first impression");
  command
      .add_option("-o,--output", arguments->calibration.output,
                  "with --calibrate, where to write "
                  "[~/.cache/zc/here.json]")
      ->type_name("FILE");
  command.add_flag("--json", arguments->json, "print it as JSON");
  addCompilation(command, arguments->compile);
  return [arguments, &command] { return planCommand(command, *arguments); };
}
