#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Export/SameNames.h"
#include "dialects/Dist/Axes.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"
#include "passes/Target/Devices.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Order/Versions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace zc;

// From the axis whose neighbours are furthest apart to that whose are nearest.
static constexpr const char *kAxes[] = {
    axes::kRole, axes::kSample, axes::kExpert, axes::kToken, axes::kTensor};
static constexpr const char *kOffered = "pp, dp, ep, sp and tp";

// The runtime's names are those of passes.
static_assert(isSame(dist::kRoleAxis, axes::kRole) &&
              isSame(dist::kSampleAxis, axes::kSample) &&
              isSame(dist::kOuterSampleAxis, axes::kOuterSample) &&
              isSame(dist::kInnerSampleAxis, axes::kInnerSample) &&
              isSame(dist::kExpertAxis, axes::kExpert) &&
              isSame(dist::kTokenAxis, axes::kToken) &&
              isSame(dist::kTensorAxis, axes::kTensor));

static constexpr int64_t kMostRanks = 1 << 20;

static llvm::SmallVector<llvm::StringRef> split(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> axes;
  text.split(axes, ',');
  return axes;
}

static std::string checkAxis(llvm::StringRef axis,
                             std::vector<std::string> &seen, int64_t &ranks) {
  auto [name, value] = axis.split('=');
  std::string text = axis.str();
  if (!llvm::is_contained(kAxes, name))
    return "expected axes pp, dp, ep, sp and tp with their sizes, as in "
           "dp=4,tp=2; found '" +
           text + "'";
  int64_t size;
  if (value.getAsInteger(10, size) || size < 1)
    return "expected AXIS=SIZE with a size of at least 1, found '" + text + "'";
  if (llvm::is_contained(seen, name))
    return "axis '" + name.str() + "' comes twice";
  seen.push_back(name.str());
  if (size > kMostRanks / ranks)
    return "more than " + std::to_string(kMostRanks) + " ranks";
  ranks *= size;
  return "";
}

std::string zc::checkMesh(const std::string &text) {
  std::vector<std::string> seen;
  int64_t ranks = 1;
  for (llvm::StringRef axis : split(text))
    if (std::string wrong = checkAxis(axis, seen, ranks); !wrong.empty())
      return wrong;
  return "";
}

static std::string checkUnit(const std::string &text) {
  int64_t bytes;
  bool sound = text == "auto" || text == "layer" ||
               (!llvm::StringRef(text).getAsInteger(10, bytes) && bytes > 0);
  return sound ? ""
               : "expected auto, layer or a number of bytes, found '" + text +
                     "'";
}

static std::string checkRules(const std::string &text) {
  return text == "auto" ? "" : CLI::ExistingFile(text);
}

static std::string checkShard(const std::string &text) {
  auto [name, dims] = llvm::StringRef(text).rsplit('=');
  return !name.empty() && !dims.empty()
             ? ""
             : "expected NAME= and for each dim its axis or '-', as in "
               "w=-,tp; found '" +
                   text + "'";
}

static void addTensorOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--tp-rules", options.tpRules,
                  "how tp divides parameters: auto finds columns and rows, "
                  "heads and vocabularies; a file has lines of a regular "
                  "expression and, for each dim, an axis or '-', as in "
                  "'fc.weight tp,-'; the first that finds a name counts, what "
                  "belongs together follows")
      ->check(checkRules)
      ->type_name("auto|FILE");
  command
      .add_option(
          "--shard", options.shard,
          "shard a parameter or input so; tensors that belong to it follow")
      ->check(checkShard)
      ->allow_extra_args(false)
      ->type_name("NAME=AXIS|-,...")
      ->default_str("");
}

std::string zc::checkCount(const std::string &text) {
  int64_t value;
  return llvm::StringRef(text).getAsInteger(10, value) || value < 1
             ? "expected a whole number from 1 to " +
                   std::to_string(INT64_MAX) + ", found '" + text + "'"
             : "";
}

std::string zc::checkInteger(const std::string &text) {
  int64_t value;
  return llvm::StringRef(text).getAsInteger(10, value)
             ? "expected a whole number of 64 bits, found '" + text + "'"
             : "";
}

static std::string checkReshardEvery(const std::string &text) {
  return text == "auto" ? "" : checkCount(text);
}

static void addZeroOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--zero", options.zero,
                  "ZeRO stage: ranks of dp shard the optimizer's moments (1), "
                  "gradients too (2), parameters too (3)")
      ->check(CLI::Range(0, 3));
  command
      .add_option("--zero-group", options.zeroGroup,
                  "divide among K ranks, and replicate between such groups")
      ->check(checkCount)
      ->type_name("K")
      ->default_str("");
  command
      .add_option("--unit", options.unit,
                  "the unit of parameters that are sharded, gathered and "
                  "reduced together: layer, a number of bytes, or auto: "
                  "layers, but small ones together")
      ->check(checkUnit)
      ->type_name("auto|layer|BYTES");
  command
      .add_option(
          "--bucket-mib", options.bucketMib,
          "the most MiB of gradients that are reduced together: with --zero 0 "
          "small gradients are joined as they become ready, by default up to 1 "
          "MiB (25 with --target cuda) and a 16th of all; with --zero 1 and 2 "
          "units are no larger, by default as large as --unit says")
      ->check(checkAmount)
      ->check(CLI::Range(0.0, 65536.0))
      ->type_name("X")
      ->default_str("");
  command
      .add_option("--prefetch", options.prefetch,
                  "with --zero 3, how many units are gathered ahead of the one "
                  "that computes")
      ->check(CLI::Range(0, 64))
      ->type_name("N")
      ->default_str("1");
  command
      .add_option(
          "--gather-precision", options.gatherPrecision,
          "with --zero 3 and --weight-copies off, what is gathered: "
          "auto, each rank's part rounded to 16 bits; fp32, all digits, "
          "twice the bytes, which each rank rounds")
      ->check(CLI::IsMember({"auto", "fp32"}));
  command
      .add_option(
          "--gradient-sums", options.gradientSums,
          "with --zero 2, scattered: a rank gets its part of the sums; "
          "whole: all of them, of which it keeps its part, for twice the "
          "bytes")
      ->check(CLI::IsMember({"scattered", "whole"}));
  command.add_flag(
      "--reshard-last", options.reshardLast,
      "with --zero 3, gather the forward's last unit again for the backward");
  command.add_flag("--no-reshard-after-forward", options.noReshardAfterForward,
                   "with --zero 3, keep the units that the forward has "
                   "gathered for the backward");
  command
      .add_option(
          "--reshard-every", options.reshardEvery,
          "with --zero 3, keep units gathered for so many micro-batches of a "
          "step, which takes the memory of all units of a rank; 1, the "
          "default: each forward and each backward gathers them again; auto, "
          "the default with --memory-budget: for a whole step in roles where "
          "the budget allows it, else 1")
      ->check(checkReshardEvery)
      ->type_name("K|auto")
      ->default_str("");
}

static std::string checkReshardTogether(const CompileOptions &options) {
  if (options.reshardLast && options.noReshardAfterForward)
    return "--reshard-last and --no-reshard-after-forward exclude one another";
  int64_t every = 1;
  llvm::StringRef(options.reshardEvery).getAsInteger(10, every);
  if (options.reshardEvery.empty() || every == 1)
    return "";
  if (options.zero != 3 || options.getNumRanks() == 1)
    return "--reshard-every belongs to --zero 3";
  if (isWithoutFlush(options.schedule))
    return "--reshard-every: with --schedule " + options.schedule +
           " micro-batches of two steps are under way, which read different "
           "versions of the parameters; leave it at 1";
  if (every > options.accumulate)
    return "--reshard-every " + options.reshardEvery + ": a step has " +
           std::to_string(options.accumulate) + " micro-batches (--accumulate)";
  return "";
}

std::string zc::checkMeshTogether(const CompileOptions &options) {
  if (std::string wrong = checkReshardTogether(options); !wrong.empty())
    return wrong;
  if (options.zero > 0 && options.unit != "auto" &&
      !getOptimizer(options.optimizer).isElementwise)
    return "--unit belongs to optimizers of elements; " + options.optimizer +
           " looks at rows and columns, so every parameter is a unit";
  int64_t ranks = options.getAxisSize(axes::kSample);
  if (options.zeroGroup > 0 && ranks % options.zeroGroup != 0)
    return "--zero-group " + std::to_string(options.zeroGroup) +
           " does not divide the " + std::to_string(ranks) + " ranks of dp";
  return "";
}

// Whether dp falls in groups.
static bool hasGroups(const CompileOptions &options) {
  return options.zeroGroup > 0 &&
         options.zeroGroup < options.getAxisSize(axes::kSample);
}

int64_t zc::getBucketBytes(const CompileOptions &options) {
  return options.bucketMib ? int64_t(*options.bucketMib * (1 << 20))
                           : getDeviceKind(options.target).bucketBytes;
}

int64_t zc::countSampleShares(const CompileOptions &options) {
  return options.getAxisSize(axes::kSample) *
         options.getAxisSize(axes::kExpert);
}

std::vector<std::string> zc::getZeroAxes(const CompileOptions &options) {
  return {hasGroups(options) ? axes::kInnerSample : axes::kSample,
          axes::kExpert, axes::kToken};
}

void zc::addMeshOptions(CLI::App &command, CompileOptions &options,
                        std::string &mesh) {
  addZeroOptions(command, options);
  addTensorOptions(command, options);
  command.add_flag("--divide-messages", options.divideMessages,
                   "with pp and tp, shard messages between stages along tp: "
                   "each rank sends a part, and the stage that receives them "
                   "gathers the whole; quicker where tp has the faster links");
  command
      .add_option("--collective-algorithm", options.collectiveAlgorithm,
                  "the algorithm by which collectives send messages between "
                  "two ranks; auto: rings")
      ->check(
          CLI::IsMember({"auto", "ring", "recursive-doubling", "rabenseifner",
                         "sequential", "parallel", "parameter-server"}));
  command
      .add_option(
          "--aggregation", options.aggregation,
          "all-reduce: every rank along dp gets the sums of gradients and "
          "updates; server: the first of them alone does, which holds the "
          "optimizer's states, and sends the parameters to the others")
      ->check(CLI::IsMember({"all-reduce", "server"}));
  command
      .add_option(
          "--mesh", mesh,
          "axes " + std::string(kOffered) +
              " with sizes, as in dp=4: the ranks a step is divided "
              "among; by default one. zc compile: once for each number of "
              "ranks that a run may have")
      ->check(checkMesh)
      ->type_name("AXIS=SIZE,...")
      ->default_str("");
}

std::vector<MeshAxis> zc::parseMesh(const std::string &text) {
  std::vector<MeshAxis> mesh;
  for (const char *name : kAxes)
    for (llvm::StringRef axis : split(text)) {
      auto [written, value] = axis.split('=');
      int64_t size = 1;
      if (written == name && !value.getAsInteger(10, size))
        mesh.push_back({name, size});
    }
  return mesh;
}

std::vector<MeshAxis> zc::getProgramAxes(const CompileOptions &options) {
  std::vector<MeshAxis> axes;
  for (const MeshAxis &axis : options.mesh)
    if (axis.name == axes::kSample && hasGroups(options)) {
      axes.push_back({axes::kOuterSample, axis.size / options.zeroGroup});
      axes.push_back({axes::kInnerSample, options.zeroGroup});
    } else {
      axes.push_back(axis);
    }
  return axes;
}

std::string zc::printMesh(const CompileOptions &options) {
  std::string text;
  for (const MeshAxis &axis : getProgramAxes(options))
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

int64_t CompileOptions::getAxisSize(const std::string &name) const {
  for (const MeshAxis &axis : mesh)
    if (axis.name == name)
      return axis.size;
  return 1;
}

int64_t zc::countRanks(const std::vector<MeshAxis> &mesh) {
  int64_t ranks = 1;
  for (const MeshAxis &axis : mesh)
    ranks *= axis.size;
  return ranks;
}

int64_t CompileOptions::getNumRanks() const { return countRanks(mesh); }
