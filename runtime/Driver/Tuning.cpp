#include "runtime/Driver/Tuning.h"
#include "runtime/Base/Hash.h"
#include "runtime/Exec/CallLaunches.h"
#include "runtime/Io/TuningFile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace zc {
namespace {

using Clock = std::chrono::steady_clock;

// Seconds that all measure for, and one call at the most: what is left then
// is computed by rule in this run, and measured in a later one.
constexpr double kMostSeconds = 20, kSecondsOfCall = 0.3;
constexpr const char *kRule = "rule";

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The root's text, for all.
Status shareText(World &world, std::string &text, int root) {
  int64_t size = int64_t(text.size());
  ZC_RETURN_IF_ERROR(world.all().broadcast(&size, sizeof(size), root));
  text.resize(size_t(size));
  return size > 0 ? world.all().broadcast(text.data(), uint64_t(size), root)
                  : Status();
}

class Tuner {
public:
  Tuner(World &world, Device &device, const TuningOptions &options)
      : world(world), device(device), options(options) {}

  Result<Tuning> run(const std::vector<Launch> &launches) {
    for (const Launch &launch : launches)
      if (std::string key = device.keyOfWays(launch); !key.empty())
        calls.emplace(std::move(key), &launch);
    ZC_RETURN_IF_ERROR(world.agree(world.isFirst() ? readKnown() : Status()));
    ZC_RETURN_IF_ERROR(shareKnown());
    ZC_RETURN_IF_ERROR(askRanks());
    spent = secondsSince(begin);
    if (world.isFirst())
      finish();
    return std::move(result);
  }

private:
  /// On the first rank: the table of the file under the ways that are kept.
  Status readKnown() {
    if (options.measures) {
      file = options.file;
      if (file.empty()) {
        ZC_ASSIGN_OR_RETURN(file, defaultTuningFile());
      }
      size_t unknown = 0;
      ZC_ASSIGN_OR_RETURN(known, readTuningFile(file, unknown));
      if (unknown > 0)
        result.warnings.push_back(
            strCat("--tune: '", file, "' has ", unknown,
                   unknown == 1 ? " entry" : " entries",
                   " of a form that is not known here, as if they were not "
                   "there"));
    }
    for (const auto &[key, way] : options.kept) {
      known[key] = {way, {}};
      result.ways[key] = way;
    }
    return Status();
  }

  Status shareKnown() {
    std::string text = world.isFirst() ? printTuning(known) : std::string();
    ZC_RETURN_IF_ERROR(shareText(world, text, 0));
    size_t unknown = 0;
    ZC_ASSIGN_OR_RETURN(known, parseTuning(text, "shared table", unknown));
    std::string kept = world.isFirst() ? printTuning(asTable(result.ways)) : "";
    ZC_RETURN_IF_ERROR(shareText(world, kept, 0));
    ZC_ASSIGN_OR_RETURN(TuningTable all,
                        parseTuning(kept, "shared table", unknown));
    for (const auto &[key, ways] : all)
      result.ways[key] = ways.quickest;
    return Status();
  }

  static TuningTable asTable(const ChosenWays &ways) {
    TuningTable table;
    for (const auto &[key, way] : ways)
      table[key] = {way, {}};
    return table;
  }

  /// Ranks with the same calls, as those of one role, ask for the same: the
  /// lowest of them speaks for all.
  Status askRanks() {
    std::string keys;
    for (const auto &[key, launch] : calls)
      keys += key + "\n";
    const uint64_t mine = hashBytes(keys);
    std::vector<uint64_t> all(size_t(world.size()));
    ZC_RETURN_IF_ERROR(world.all().allGather(&mine, all.data(), sizeof(mine)));
    std::set<uint64_t> asked;
    for (int rank = 0; rank < world.size(); ++rank) {
      if (!asked.insert(all[size_t(rank)]).second)
        continue;
      ZC_RETURN_IF_ERROR(hearFrom(rank));
    }
    return Status();
  }

  /// The rank tells of one call after another: nobody waits for more than one
  /// measurement.
  Status hearFrom(int rank) {
    const bool isOwn = rank == world.rank();
    auto own = calls.begin();
    int64_t count = int64_t(calls.size());
    ZC_RETURN_IF_ERROR(world.all().broadcast(&count, sizeof(count), rank));
    for (; count > 0; --count) {
      std::string text;
      if (isOwn) {
        text = printTuning(choose(own->first, *own->second));
        ++own;
      }
      ZC_RETURN_IF_ERROR(shareText(world, text, rank));
      size_t unknown = 0;
      ZC_ASSIGN_OR_RETURN(const TuningTable told,
                          parseTuning(text, "shared table", unknown));
      take(told);
    }
    return Status();
  }

  /// The way of one of this rank's calls, measured where it was not known.
  TuningTable choose(const std::string &key, const Launch &launch) {
    if (auto found = known.find(key); found != known.end())
      return {{key, {found->second.quickest, {}}}};
    if (!options.measures)
      return {};
    const double each =
        std::min(kSecondsOfCall, kMostSeconds / 2 / double(calls.size()));
    if (secondsSince(begin) < kMostSeconds)
      return {{key, measure(launch, each)}};
    return {{key, {kRule, {}}}};
  }

  /// A call that cannot be measured, for want of memory, is left to the rule.
  MeasuredWays measure(const Launch &launch, double seconds) {
    Result<MeasuredWays> measured = device.measureWays(launch, seconds);
    return measured.ok() ? *measured : MeasuredWays{kRule, {}};
  }

  void take(const TuningTable &told) {
    for (const auto &[key, ways] : told) {
      result.ways[key] = ways.quickest;
      if (measured.count(key) || left.count(key))
        continue;
      if (known.count(key)) {
        reused.insert(key);
        continue;
      }
      known[key] = ways;
      (ways.seconds.empty() ? left : measured)[key] = ways;
    }
  }

  /// On the first rank: writes what is new, and says what was done.
  void finish() {
    noteLack();
    if (!options.measures)
      return;
    if (reused.empty() && measured.empty() && left.empty())
      result.warnings.push_back(
          "--tune: the device has one way of each call of "
          "this artifact; nothing is measured");
    else
      result.notes.push_back(
          strCat("--tune: of ", reused.size() + measured.size() + left.size(),
                 " calls with several ways ", measured.size(),
                 " were measured in ", std::ceil(100 * spent) / 100, " s, ",
                 reused.size(), " before ('", file, "')"));
    if (!left.empty())
      result.warnings.push_back(
          strCat("--tune: ", left.size(), left.size() == 1 ? " call" : " calls",
                 " could not be measured in the time and memory there is, and "
                 "go by rule; run again to measure more"));
    Status written =
        measured.empty() ? Status() : addToTuningFile(file, measured);
    if (!written.ok())
      result.warnings.push_back(
          strCat("--tune: what was measured is not kept: ", written.message()));
  }

  /// Says that a run that goes on computes some calls otherwise.
  void noteLack() {
    size_t lacking = 0;
    for (const auto &[key, launch] : calls)
      lacking += options.kept.count(key) == 0;
    if (lacking > 0 && !options.kept.empty())
      result.warnings.push_back(
          strCat("--resume: ", lacking, " of ", calls.size(),
                 " calls with several ways were not measured in the run so "
                 "far, and ",
                 options.measures ? "are measured now" : "go by rule",
                 ": it had another processor, number of "
                 "threads, version of oneDNN, mesh, artifact or evaluation",
                 options.measures ? "" : "; --tune measures them"));
  }

  World &world;
  Device &device;
  const TuningOptions &options;
  std::map<std::string, const Launch *> calls; // of this rank, by key
  std::string file;                            // on the first rank
  TuningTable known, measured, left;
  std::set<std::string> reused;
  const Clock::time_point begin = Clock::now();
  double spent = 0; // seconds
  Tuning result;
};

} // namespace

Result<Tuning> tuneCalls(World &world, Device &device, const Artifact &artifact,
                         const std::vector<std::string> &programs,
                         const TuningOptions &options) {
  return Tuner(world, device, options).run(launchesOfCalls(artifact, programs));
}

} // namespace zc
