#include "compiler/Driver/ClusterFile.h"

#include "compiler/Driver/Calibrate.h"
#include "compiler/Driver/MeshOptions.h"
#include "passes/Target/Devices.h"
#include "runtime/Base/File.h"
#include "runtime/Simulate/InstructionTimes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

using namespace zc;

Result<Cluster> zc::loadCluster(const std::string &name) {
  if (const char *text = findPreset(name))
    return Cluster::parse(text, "cluster '" + name + "'");
  constexpr size_t kMostBytes = 64 << 20;
  const bool isHere = name == "here";
  std::string path = name;
  if (isHere) {
    ZC_ASSIGN_OR_RETURN(path, hereFile());
  }
  Result<std::string> text = readFile(path, kMostBytes);
  if (isHere && !text.ok() && text.status().code() == StatusCode::NotFound)
    return makeError(StatusCode::NotFound,
                     "this machine has not been measured "
                     "yet: `zc plan --calibrate` writes '",
                     path, "'");
  if (!text.ok() && text.status().code() == StatusCode::NotFound)
    return makeError(StatusCode::NotFound, "there is no cluster file '", name,
                     "'; presets are ", llvm::join(listPresets(), ", "),
                     ", and here, this machine");
  if (!text.ok())
    return text.status();
  return Cluster::parse(*text, path);
}

/// The type in which products of the options' precision are multiplied.
static plan::DataType productType(const SimulatedDevice &device,
                                  const CompileOptions &options) {
  if (options.precision == "bf16")
    return plan::BF16;
  const bool isHost = getDeviceKind(options.target).isHost;
  if (options.precision == "fp16") // CPUs multiply float32
    return isHost ? plan::F32 : plan::F16;
  if (options.precision == "fp8") // others multiply the numbers as bfloat16
    return device.flopsPerSecond[plan::U8] > 0 ? plan::U8 : plan::BF16;
  return plan::F32;
}

/// FLOP/s of a product that is large enough for the device.
static double productRate(const SimulatedDevice &device,
                          const CompileOptions &options) {
  constexpr int64_t kLarge = 4096;
  MeasuredMatmul product;
  product.m = product.n = product.k = kLarge;
  product.batch = 1;
  product.dtype = productType(device, options);
  return matmulRate(device, options.matmulPrecision == "tf32", product);
}

/// A number as MLIR reads it; `otherwise` where a cluster says 0, for what
/// takes no time.
static std::string printRate(double rate, double otherwise) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.6e", rate > 0 ? rate : otherwise);
  return text;
}

static std::string quote(llvm::StringRef name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '"';
  llvm::printEscapedString(name, os);
  os << '"';
  return text;
}

static std::string quoteAll(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + quote(name);
  return "[" + text + "]";
}

/// Any real link or memory stays far below, in bytes or FLOPs a second.
constexpr double kAtOnce = 1e21;

static std::string printAxes(const std::vector<MeshAxis> &axes) {
  std::vector<std::string> names;
  std::string sizes;
  for (const MeshAxis &axis : axes) {
    names.push_back(axis.name);
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(axis.size);
  }
  return axes.empty()
             ? ""
             : ", axes = " + quoteAll(names) + ", sizes = [" + sizes + "]";
}

static std::string printLink(const LinkLevel &link) {
  return "#sched.link<ranks = " + std::to_string(link.size) +
         ", seconds = " + printRate(link.latencySeconds, 0) +
         ", bytes = " + printRate(link.bytesPerSecond, kAtOnce) + ">";
}

std::string zc::describeMachine(const Cluster &cluster,
                                const CompileOptions &options) {
  const SimulatedDevice device = cluster.sharedBy(options.getNumRanks()).device;
  std::string links;
  for (const LinkLevel &each : cluster.levels)
    links += (links.empty() ? "" : ", ") + printLink(each);
  std::vector<std::string> ways;
  for (CollectiveWay way : cluster.ways)
    ways.push_back(nameOf(way));
  return "#sched.machine<name = " + quote(cluster.name) +
         ", flops = " + printRate(productRate(device, options), kAtOnce) +
         ", bytes = " +
         printRate(device.bytesPerSecond * device.efficiency.bytes, kAtOnce) +
         ", copy = " + printRate(device.hostBytesPerSecond, kAtOnce) +
         ", launch = " + printRate(device.launchSeconds, 0) + ", links = [" +
         links + "], ways = " + quoteAll(ways) +
         printAxes(getProgramAxes(options)) + ">";
}

void zc::addClusterOption(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--cluster", options.cluster,
                  "the machines that the artifact is for: a file, or one of " +
                      llvm::join(listPresets(), ", ") +
                      ", here; rates and links there decide what overlaps, how "
                      "far ahead gathers begin, where stages are cut and what "
                      "is computed again. By default those of the --target's "
                      "usual devices, on one kind of link")
      ->type_name("FILE|PRESET");
}

void zc::decideFor(const Cluster &cluster, CompileOptions &options) {
  const std::string &device = cluster.device.target;
  if (options.target != device)
    throw CLI::ValidationError(
        "--cluster", "'" + cluster.name + "' has devices of --target " +
                         device + ", not " + options.target);
  if (options.getNumRanks() > cluster.size())
    throw CLI::ValidationError("--cluster",
                               "'" + cluster.name + "' has room for " +
                                   std::to_string(cluster.size()) +
                                   " ranks, fewer than the mesh's " +
                                   std::to_string(options.getNumRanks()));
  options.machine = describeMachine(cluster, options);
}

void zc::compileForCluster(const CLI::App &command, CompileOptions &options) {
  if (options.cluster.empty())
    return;
  Result<Cluster> cluster = loadCluster(options.cluster);
  if (!cluster.ok())
    throw CLI::ValidationError("--cluster", cluster.status().message());
  if (command.count("--target") == 0)
    options.target = cluster->device.target;
  decideFor(*cluster, options);
}
