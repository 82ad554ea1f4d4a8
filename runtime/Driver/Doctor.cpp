#include "runtime/Driver/Doctor.h"

#include "runtime/Base/Cores.h"
#include "runtime/Base/Memory.h"
#include "runtime/Base/Plugin.h"
#include "runtime/Device/Plugin.h"
#include "runtime/Driver/Progress.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

namespace zc {

namespace {

/// Architectures, and instruction sets that change what zc's kernels and
/// libraries do, as LLVM spells them.
constexpr const char *kFeatures[] = {
    "x86-64",     "avx2",       "fma",      "avx512f",  "avx512vnni",
    "avx512bf16", "avx512fp16", "amx-tile", "amx-int8", "amx-bf16",
    "amx-fp16",   "aarch64",    "neon",     "lse",      "fullfp16",
    "fp16fml",    "dotprod",    "bf16",     "i8mm",     "sve"};

std::string firstValue(const std::string &path, const std::string &key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0)
      continue;
    size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

/// By its maker's name for it; Linux on ARM knows none, but a board's.
std::string findProcessor(const std::string &root) {
  std::string name = firstValue(root + "/proc/cpuinfo", "model name");
  if (name.empty()) {
    std::ifstream board(root + "/proc/device-tree/model");
    std::getline(board, name, '\0');
  }
  return name.empty() ? "unknown" : name;
}

/// A line of /proc/meminfo, in bytes.
std::optional<uint64_t> memoryLine(const std::string &root,
                                   const std::string &key) {
  std::string text = firstValue(root + "/proc/meminfo", key + ":");
  uint64_t kib = 0;
  if (std::sscanf(text.c_str(), "%lu kB", &kib) != 1)
    return std::nullopt;
  return kib * 1024;
}

Finding examineCores(const std::string &root) {
  AllowedCores allowed = findAllowedCores();
  CpuQuota quota = readCpuQuota(root);
  std::string text = strCat(allowed.count, " processors may be used");
  if (quota.cores > 0) {
    char limit[32];
    std::snprintf(limit, sizeof(limit), "%.2g", quota.cores);
    text += strCat(", for the time of ", limit, " ('", quota.group, "')");
  }
  int threads = threadsWorth(allowed.count, quota.cores);
  text += strCat(": ", threads, threads == 1 ? " thread pays" : " threads pay");
  if (threads == 1)
    return {"cores", text};
  const OwnCores own = dealCores(allowed, quota, {});
  return {"cores", text + (own.processors.empty()
                               ? "; not pinned: " + own.reason
                               : "; each pinned to a processor of its own")};
}

Finding examineMemory(const std::string &root) {
  auto total = memoryLine(root, "MemTotal");
  auto free = memoryLine(root, "MemAvailable");
  if (!total || !free)
    return {"memory", "unknown: '" + root + "/proc/meminfo' cannot be read"};
  std::string text = strCat(printBytes(*free), " free of ", printBytes(*total));
  if (MemoryLimit limit = readMemoryLimit(root); limit.bytes < *total)
    text += strCat("; control group '", limit.group, "' may use ",
                   printBytes(limit.bytes));
  return {"memory", text};
}

/// The folder where commands put temporary files.
Finding examineTemporaries() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error)
    return {"temporary files",
            "no folder: TMPDIR names none that exists (" + error.message() +
                ")",
            false};
  auto space = std::filesystem::space(folder, error);
  return {
      "temporary files",
      strCat("'", folder.string(), "', ",
             error ? error.message() : printBytes(space.available) + " free"),
      !error};
}

std::string printLimits(const DeviceLimits &limits) {
  char text[128];
  std::snprintf(text, sizeof(text),
                "; measured %.0f GFLOP/s of float32 products, %.1f GB/s of "
                "memory",
                limits.flopsPerSecond / 1e9, limits.bytesPerSecond / 1e9);
  return text;
}

std::string listFeatures(const Device &device) {
  auto has = [&](const char *feature) {
    return device.checkFeatures({feature}).ok();
  };
  std::string text = ";";
  for (const char *feature : kFeatures)
    if (has(feature))
      text += strCat(" ", feature);
  return has("x86-64") && !has("avx2")
             ? text + ", no AVX2: generic kernels only"
             : text;
}

Finding examineDevice(const std::string &kind, bool measures) {
  DeviceOptions options;
  options.threads = usableCores();
  auto device = openDevice(kind, options);
  if (!device.ok())
    return {kind, device.status().message(), false};
  std::string text = (*device)->description();
  if (kind == "cpu")
    text += listFeatures(**device);
  if (!measures)
    return {kind, text};
  auto limits = (*device)->measureLimits();
  if (!limits.ok())
    return {kind, text + "; " + limits.status().message(), false};
  return {kind, text + printLimits(*limits)};
}

/// Opens a library to other ranks: more cannot be tried alone.
Finding examinePlugin(const char *kind, const char *what) {
  Result<PluginLibrary> library = openPlugin(kind, what);
  if (!library.ok())
    return {kind, library.status().message(), false};
  return {kind, "its plugin opens"};
}

} // namespace

std::vector<Finding> examineMachine(bool measures, const std::string &root) {
  std::vector<Finding> findings = {{"processor", findProcessor(root)},
                                   examineCores(root),
                                   examineMemory(root),
                                   examineTemporaries(),
                                   examineDevice("cpu", measures),
                                   examineDevice("cuda", measures),
                                   examinePlugin("mpi", "MPI")};
  if (findings[5].usable) // NCCL is for GPUs alone
    findings.push_back(examinePlugin("nccl", "NCCL"));
  return findings;
}

std::string printFindings(const std::vector<Finding> &findings) {
  std::string text;
  for (const Finding &finding : findings) {
    std::string what = finding.what;
    what.resize(17, ' ');
    text +=
        strCat(what, finding.usable ? "" : "not usable: ", finding.text, "\n");
  }
  return text;
}

std::string findingsToJson(const std::vector<Finding> &findings) {
  nlohmann::ordered_json json;
  for (const Finding &finding : findings)
    json[finding.what] = {{"usable", finding.usable}, {"text", finding.text}};
  return json.dump(2) + "\n";
}

} // namespace zc
