#include "compiler/Plan/Calibration.h"

#include "runtime/Plan/Collective/Cost.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Simulate/InstructionTimes.h"
#include "runtime/Simulate/Simulation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace zc {
namespace {

using Json = nlohmann::json;

/// Tracks of a trace (runtime/Driver/Trace.cpp).
constexpr int kMainStream = 0, kLastStream = 2, kStepsTrack = 17;

double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// An event of a trace, in seconds.
struct Event {
  double begin, end;
  std::string program;
  int instruction;
  bool waits;
};

struct Timeline {
  std::map<int, std::vector<Event>> main; // by rank
  std::map<std::tuple<int, std::string, int>, std::vector<double>> times;
  std::vector<double> steps; // when the first rank began them
};

Status readTimeline(const std::string &trace, Timeline &timeline) {
  const Json json = Json::parse(trace, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.contains("traceEvents"))
    return makeError(StatusCode::InvalidArgument, "the run left no trace");
  for (const Json &each : json["traceEvents"]) {
    if (each["ph"] != "X")
      continue;
    const int rank = each["pid"], track = each["tid"];
    const double begin = each["ts"].get<double>() * 1e-6;
    const double seconds = each["dur"].get<double>() * 1e-6;
    if (track == kStepsTrack && rank == 0)
      timeline.steps.push_back(begin);
    if (track > kLastStream || each["cat"] == "collective")
      continue;
    const Json &args = each["args"];
    const Event event{begin, begin + seconds, args["program"],
                      args["instruction"], !args["waits"].empty()};
    timeline.times[{rank, event.program, event.instruction}].push_back(seconds);
    if (track == kMainStream)
      timeline.main[rank].push_back(event);
  }
  return Status();
}

/// The host's time between instructions, programs and steps.
struct Gaps {
  std::vector<double> launch, call, step;
};

Gaps findGaps(const Timeline &timeline) {
  Gaps gaps;
  for (auto [rank, events] : timeline.main) {
    std::sort(events.begin(), events.end(),
              [](const Event &a, const Event &b) { return a.begin < b.begin; });
    auto stepOf = [&](const Event &event) {
      return std::upper_bound(timeline.steps.begin(), timeline.steps.end(),
                              event.begin) -
             timeline.steps.begin();
    };
    for (size_t i = 1; i < events.size(); ++i) {
      const Event &before = events[i - 1], &event = events[i];
      const double gap = std::max(0.0, event.begin - before.end);
      if (event.program == before.program &&
          event.instruction > before.instruction) {
        if (!event.waits && event.instruction == before.instruction + 1)
          gaps.launch.push_back(gap);
      } else if (stepOf(event) != stepOf(before)) {
        gaps.step.push_back(gap);
      } else {
        gaps.call.push_back(gap);
      }
    }
  }
  return gaps;
}

const plan::Program *findProgram(const plan::Role &role,
                                 const std::string &name) {
  for (const plan::Program &program : role.programs())
    if (program.name() == name)
      return &program;
  return nullptr;
}

} // namespace

Status Calibration::addInstructions(
    const plan::Manifest &manifest, Share &share,
    const std::map<std::tuple<int, std::string, int>, std::vector<double>>
        &times) {
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  for (const auto &[key, seconds] : times) {
    const auto &[rank, name, index] = key;
    const plan::Program *program =
        findProgram(manifest.roles(mesh.role(rank)), name);
    if (!program || index >= program->instructions_size())
      continue;
    const plan::Instruction &instruction = program->instructions(index);
    const double median = std::max(1e-9, medianOf(seconds));
    if (instruction.has_matmul() && instruction.matmul().a().dims_size() >= 2 &&
        instruction.matmul().c().dims_size() >= 2) {
      const MeasuredMatmul p = productOf(*program, instruction.matmul());
      auto [known, isNew] = share.products.try_emplace(
          Product{p.m, p.n, p.k, p.batch, p.transposesA, p.transposesB,
                  p.dtype},
          instruction.flops(), median);
      known->second.second = std::min(known->second.second, median);
      continue;
    }
    auto [known, isNew] = share.instructions.try_emplace(
        {kindOfInstruction(instruction), operatorsOfLabel(instruction.label()),
         instruction.flops(), instruction.bytes()},
        median);
    known->second = std::min(known->second, median);
  }
  return Status();
}

Status Calibration::addRun(const plan::Manifest &manifest,
                           const std::string &trace) {
  Timeline timeline;
  ZC_RETURN_IF_ERROR(readTimeline(trace, timeline));
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  Share &share = shares[mesh.ranks()];
  ZC_RETURN_IF_ERROR(addInstructions(manifest, share, timeline.times));
  std::vector<double> steps;
  for (size_t i = 1; i < timeline.steps.size(); ++i)
    steps.push_back(timeline.steps[i] - timeline.steps[i - 1]);
  if (steps.empty())
    return makeError(StatusCode::InvalidArgument,
                     "the run's trace shows fewer than two steps");
  const double seconds = medianOf(steps);
  auto same = std::find_if(runs.begin(), runs.end(), [&](const Run &run) {
    return run.manifest.SerializeAsString() == manifest.SerializeAsString();
  });
  if (same == runs.end())
    runs.push_back({manifest, mesh.ranks(), seconds});
  else
    same->seconds = std::min(same->seconds, seconds);
  // Stages of a pipeline also wait for one another.
  if (manifest.roles_size() > 1)
    return Status();
  const Gaps gaps = findGaps(timeline);
  auto take = [](double &least, const std::vector<double> &values) {
    if (!values.empty())
      least = std::min(least, medianOf(values));
  };
  take(share.launchSeconds, gaps.launch);
  take(share.callSeconds, gaps.call);
  take(share.stepSeconds, gaps.step);
  return Status();
}

Status Calibration::addLinks(const std::string &text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.contains("links"))
    return makeError(StatusCode::InvalidArgument,
                     "messages could not be measured");
  linkedRanks = json["ranks"];
  for (const Json &each : json["links"]) {
    const std::string kind = each["kind"];
    const double bytes = each["bytes"], seconds = each["seconds"];
    Link link{1, bytes, seconds};
    for (auto [name, one] : {std::pair("all_reduce", plan::ALL_REDUCE),
                             std::pair("all_gather", plan::ALL_GATHER),
                             std::pair("reduce_scatter", plan::REDUCE_SCATTER)})
      if (kind == name) {
        const CollectiveCost cost =
            costOf({one, plan::AUTO, linkedRanks, int64_t(bytes), 1});
        link.rounds = cost.steps;
        link.bytes = double(cost.sentBytes);
      }
    links.push_back(link);
  }
  return Status();
}

/// Least squares of the relative errors of rounds * latency + bytes / rate.
void Calibration::fitLinks() {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (const Link &link : links) {
    const double x = link.rounds / link.seconds, y = link.bytes / link.seconds;
    aa += x * x, ab += x * y, bb += y * y, a += x, b += y;
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant <= 0)
    return;
  latencySeconds = std::max(0.0, (a * bb - b * ab) / determinant);
  secondsPerByte = std::max(0.0, (b * aa - a * ab) / determinant);
}

/// The share for which the runs' simulated steps are nearest to the measured.
Result<double> Calibration::fitComputeWhileSending() {
  double best = 1, least = -1;
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const double share = std::max(0.01, tenth / 10.0);
    ZC_ASSIGN_OR_RETURN(const Cluster cluster,
                        Cluster::parse(print(share), "calibration"));
    double sum = 0;
    for (const Run &run : runs) {
      if (run.ranks == 1 || run.manifest.roles_size() > 1)
        continue;
      ZC_ASSIGN_OR_RETURN(const SimulatedStep step,
                          simulateStep(run.manifest, cluster));
      const double apart = std::log(step.seconds / run.seconds);
      sum += apart * apart;
    }
    if (least < 0 || sum < least)
      least = sum, best = share;
  }
  return best;
}

namespace {

/// Four digits: what is measured is no surer.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return std::strtod(text, nullptr);
}

const char *nameOf(plan::DataType type) {
  switch (type) {
  case plan::F64:
    return "f64";
  case plan::F16:
    return "f16";
  case plan::BF16:
    return "bf16";
  default:
    return "f32";
  }
}

} // namespace

std::string Calibration::print(double computeWhileSending) const {
  Json cluster = {{"name", "here"}, {"sources", machine.sources}};
  Json list = Json::array();
  double hostRate = 0;
  for (const auto &[ranks, share] : shares) {
    double flopsRate = 1, bytesRate = 1;
    Json products = Json::array(), measured = Json::array();
    for (const auto &[product, found] : share.products) {
      const auto &[m, n, k, batch, isATurned, isBTurned, type] = product;
      const double rate = std::max(1.0, found.first / found.second);
      flopsRate = std::max(flopsRate, rate);
      Json row = {{"m", m}, {"n", n}, {"k", k}, {"batch", batch}};
      row["dtype"] = nameOf(type);
      row["transposed"] = isATurned   ? isBTurned ? "ab" : "a"
                          : isBTurned ? "b"
                                      : "none";
      row["flops_per_s"] = rounded(rate);
      products.push_back(row);
    }
    for (const auto &[what, seconds] : share.instructions) {
      const auto &[kind, operators, flops, bytes] = what;
      // Small ones come out of caches.
      if (bytes >= 1 << 20)
        bytesRate = std::max(bytesRate, bytes / seconds);
      if (kind == "copy" && bytes >= 1 << 20)
        hostRate = std::max(hostRate, bytes / seconds / 2);
      measured.push_back({{"kind", kind},
                          {"operators", operators},
                          {"flops", flops},
                          {"bytes", bytes},
                          {"seconds", rounded(seconds)}});
    }
    Json device = {
        {"name", machine.name},
        {"memory_bytes", double(machine.memoryBytes / uint64_t(ranks))},
        {"memory_bytes_per_s", rounded(bytesRate)},
        {"flops_per_s", {{"f32", rounded(flopsRate)}}},
        {"efficiency", {{"matmul", {{"measured", products}}}}},
        {"measured", measured}};
    auto set = [&](const char *key, double seconds) {
      device[key] = seconds < 1 ? rounded(seconds) : 0; // 1: never seen
    };
    set("launch_s", share.launchSeconds);
    set("call_s", share.callSeconds);
    set("step_s", share.stepSeconds);
    if (ranks == 1)
      cluster["device"] = device;
    else
      list.push_back({{"ranks", ranks}, {"device", device}});
  }
  cluster["shares"] = list;
  cluster["levels"] = Json::array(
      {{{"name", "host"},
        {"size", std::max(machine.cores, linkedRanks)},
        {"bytes_per_s", secondsPerByte > 0 ? rounded(1 / secondsPerByte) : 0},
        {"latency_s", rounded(latencySeconds)}}});
  if (hostRate > 0)
    cluster["host"] = {{"bytes_per_s", rounded(hostRate)}};
  cluster["collectives"] = {
      {"algorithms", {"ring"}},
      {"compute_while_sending", rounded(computeWhileSending)}};
  return cluster.dump(1) + "\n";
}

Result<std::string> Calibration::finish() {
  if (shares.count(1) == 0)
    return makeError(StatusCode::InvalidArgument,
                     "no run of one rank was measured");
  fitLinks();
  ZC_ASSIGN_OR_RETURN(const double share, fitComputeWhileSending());
  const std::string text = print(share);
  ZC_ASSIGN_OR_RETURN(const Cluster cluster,
                      Cluster::parse(text, "calibration"));
  for (Run &run : runs) {
    ZC_ASSIGN_OR_RETURN(const SimulatedStep step,
                        simulateStep(run.manifest, cluster));
    run.simulated = step.seconds;
  }
  return text;
}

std::string Calibration::printRuns() const {
  std::string text;
  for (const Run &run : runs) {
    std::string mesh;
    for (const auto &axis : run.manifest.mesh())
      if (axis.value() != "1")
        mesh += (mesh.empty() ? "" : ",") + axis.name() + "=" + axis.value();
    char line[160];
    std::snprintf(line, sizeof(line),
                  "%-12s measured %8.3f ms a step, simulated %8.3f ms (%.2f)\n",
                  mesh.empty() ? "1 rank" : mesh.c_str(), run.seconds * 1e3,
                  run.simulated * 1e3, run.simulated / run.seconds);
    text += line;
  }
  return text;
}

} // namespace zc
