#include "compiler/Plan/Calibration.h"

#include "runtime/Plan/Collective/Cost.h"
#include "runtime/Plan/InstructionKind.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/StreamNumbers.h"
#include "runtime/Simulate/InstructionTimes.h"
#include "runtime/Simulate/Simulation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace zc {
namespace {

/// The share of rounds that nothing disturbed.
constexpr double kUndisturbed = 0.25;

/// Tracks of a trace (runtime/Driver/Trace.cpp).
constexpr int kStepsTrack = 17;

/// The value below which that share of them lies; 0 of none.
double quantileOf(std::vector<double> values, double share) {
  if (values.empty())
    return 0;
  auto found = values.begin() + ptrdiff_t(double(values.size()) * share);
  std::nth_element(values.begin(), found, values.end());
  return *found;
}

double medianOf(const std::vector<double> &values) {
  return quantileOf(values, 0.5);
}

/// An event of a trace, in seconds.
struct Event {
  double begin, end;
  std::string program;
  int instruction, stream;
  bool waits, isCollective;
};

struct TracedSpans {
  std::map<int, std::vector<Event>> events; // by rank; of all streams
  std::map<int, std::vector<double>> steps; // by rank, when they began
};

Status readSpans(const std::string &trace, TracedSpans &spans) {
  const nlohmann::json json =
      nlohmann::json::parse(trace, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.contains("traceEvents"))
    return makeError(StatusCode::InvalidArgument, "the run left no trace");
  for (const nlohmann::json &each : json["traceEvents"]) {
    if (each["ph"] != "X")
      continue;
    const int rank = each["pid"], track = each["tid"];
    const double begin = each["ts"].get<double>() * 1e-6;
    const double seconds = each["dur"].get<double>() * 1e-6;
    if (track == kStepsTrack)
      spans.steps[rank].push_back(begin);
    // The host's kernels are no work of the device.
    if (track >= int(streams::kCount) || track == int(streams::kHost))
      continue;
    const nlohmann::json &args = each["args"];
    spans.events[rank].push_back(
        {begin, begin + seconds, args["program"], args["instruction"], track,
         !args["waits"].empty(), each["cat"] == "collective"});
  }
  for (auto &[rank, events] : spans.events)
    std::sort(events.begin(), events.end(),
              [](const Event &a, const Event &b) { return a.begin < b.begin; });
  return Status();
}

/// The quarter of the steps in which the first rank was disturbed least: true
/// for each of them. The last one, whose end is not seen, is none.
std::vector<bool> findQuiet(const std::vector<double> &steps, double &seconds) {
  std::vector<std::pair<double, size_t>> lengths;
  for (size_t i = 1; i < steps.size(); ++i)
    lengths.push_back({steps[i] - steps[i - 1], i - 1});
  std::sort(lengths.begin(), lengths.end());
  const size_t count = (lengths.size() + 3) / 4;
  std::vector<bool> isQuiet(steps.size(), false);
  seconds = 0;
  for (size_t i = 0; i < count; ++i) {
    isQuiet[lengths[i].second] = true;
    seconds += lengths[i].first / double(count);
  }
  return isQuiet;
}

struct Mean {
  double sum = 0;
  int64_t count = 0;
  void add(double value) { sum += value, ++count; }
  double value() const { return count > 0 ? sum / double(count) : 0; }
};

/// Times of instructions in quiet steps, and the host's time between
/// instructions, programs and steps.
struct QuietTimes {
  std::map<std::tuple<int, std::string, int>, std::vector<double>> instructions;
  Mean launch, call, step;
};

/// From the first instruction of a quiet step to the end of its last one, on
/// the first rank; their mean.
double busySeconds(const TracedSpans &spans, const std::vector<bool> &isQuiet) {
  const std::vector<double> &steps = spans.steps.at(0);
  auto found = spans.events.find(0);
  Mean busy;
  for (size_t i = 0; i + 1 < steps.size() && found != spans.events.end(); ++i) {
    double first = 0, last = 0;
    for (const Event &event : found->second)
      if (isQuiet[i] && event.begin >= steps[i] && event.begin < steps[i + 1]) {
        first = first > 0 ? first : event.begin;
        last = std::max(last, event.end);
      }
    if (isQuiet[i])
      busy.add(last - first);
  }
  return busy.value();
}

QuietTimes findTimes(const TracedSpans &spans,
                     const std::vector<bool> &isQuiet) {
  QuietTimes times;
  for (const auto &[rank, events] : spans.events) {
    auto found = spans.steps.find(rank);
    if (found == spans.steps.end())
      continue;
    const std::vector<double> &steps = found->second;
    const Event *before = nullptr;
    size_t stepBefore = 0;
    for (const Event &event : events) {
      const auto step =
          size_t(std::upper_bound(steps.begin(), steps.end(), event.begin) -
                 steps.begin());
      if (step == 0 || step > isQuiet.size() || !isQuiet[step - 1])
        continue;
      if (!event.isCollective)
        times.instructions[{rank, event.program, event.instruction}].push_back(
            event.end - event.begin);
      if (event.stream != int(streams::kMain))
        continue;
      if (before) {
        const double gap = std::max(0.0, event.begin - before->end);
        const bool follows = event.program == before->program &&
                             event.instruction > before->instruction;
        if (follows && !event.waits)
          times.launch.add(gap);
        else if (!follows && step == stepBefore)
          times.call.add(gap);
      }
      before = &event;
      stepBefore = step;
    }
  }
  return times;
}

const plan::Program *findProgram(const plan::Role &role,
                                 const std::string &name) {
  for (const plan::Program &program : role.programs())
    if (program.name() == name)
      return &program;
  return nullptr;
}

} // namespace

void Calibration::addInstruction(Share &share, const plan::Program &program,
                                 const Place &place, double seconds) {
  seconds = std::max(1e-9, seconds);
  const plan::Instruction &instruction =
      program.instructions(std::get<3>(place));
  const kernels::CallWork work = workOf(program, instruction);
  if (const auto &p = work.product) {
    share
        .products[{p->m, p->n, p->k, p->batch, p->transposesA, p->transposesB,
                   dataType(work.type)}][place]
        .push_back(seconds);
    return;
  }
  const MeasuredInstruction found = describe(program, instruction);
  share
      .instructions[{found.kind, found.operators, found.form, found.flops,
                     found.bytes, std::string(work.rate)}][place]
      .push_back(seconds);
}

size_t Calibration::addStep(const plan::Manifest &manifest, int64_t ranks,
                            double seconds) {
  const std::string text = manifest.SerializeAsString();
  auto same = std::find_if(runs.begin(), runs.end(), [&](const Run &run) {
    return run.manifest.SerializeAsString() == text;
  });
  const auto index = size_t(same - runs.begin());
  if (same == runs.end())
    runs.push_back({manifest, ranks, seconds});
  else
    same->seconds = std::min(same->seconds, seconds);
  return index;
}

Status Calibration::addRun(const plan::Manifest &manifest,
                           const std::string &trace) {
  TracedSpans spans;
  ZC_RETURN_IF_ERROR(readSpans(trace, spans));
  const std::vector<double> &steps = spans.steps[0];
  if (steps.size() < 2)
    return makeError(StatusCode::InvalidArgument,
                     "the run's trace shows fewer than two steps");
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  Share &share = shares[mesh.ranks()];
  double seconds = 0;
  const std::vector<bool> isQuiet = findQuiet(steps, seconds);
  const QuietTimes times = findTimes(spans, isQuiet);
  const size_t run = addStep(manifest, mesh.ranks(), seconds);
  for (const auto &[key, seen] : times.instructions) {
    const auto &[rank, name, index] = key;
    const plan::Program *program =
        findProgram(manifest.roles(mesh.role(rank)), name);
    if (program && index < program->instructions_size())
      addInstruction(share, *program, {run, rank, name, index}, medianOf(seen));
  }
  // Stages of a pipeline also wait for one another.
  if (manifest.roles_size() > 1)
    return Status();
  share.launch.push_back(times.launch.value());
  if (times.call.count > 0)
    share.call.push_back(times.call.value());
  // The step's remaining time. With several ranks, part of it is waiting.
  if (mesh.ranks() == 1)
    share.step.push_back(std::max(0.0, seconds - busySeconds(spans, isQuiet)));
  return Status();
}

Status Calibration::addLinks(const std::string &text) {
  const nlohmann::json json =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.contains("links"))
    return makeError(StatusCode::InvalidArgument,
                     "messages could not be measured");
  const int64_t ranks = json["ranks"];
  linkedRanks = std::max(linkedRanks, ranks);
  for (const nlohmann::json &each : json["links"]) {
    const std::string name = each["kind"];
    const auto kind = findTimedCollective(name);
    if (!kind)
      return makeError(StatusCode::InvalidArgument,
                       "links of an unknown kind were measured: ", name);
    links[{*kind, ranks, each["bytes"]}].push_back(each["seconds"]);
  }
  return Status();
}

double Calibration::undisturbed(const Rounds &rounds) {
  Mean places;
  for (const auto &[place, seconds] : rounds)
    places.add(quantileOf(seconds, kUndisturbed));
  return places.value();
}

std::vector<MeasuredCollective> Calibration::listCollectives() const {
  std::vector<MeasuredCollective> rows;
  for (const auto &[what, seconds] : links) {
    const auto &[kind, ranks, bytes] = what;
    rows.push_back({kind, ranks, bytes, quantileOf(seconds, kUndisturbed)});
  }
  mendCollectives(rows);
  return rows;
}

/// Least squares of the relative errors of rounds * latency + bytes / rate. The
/// level is for collectives of other ranks than were timed: messages have rows,
/// and their bytes are quicker.
void Calibration::fitLinks() {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (const MeasuredCollective &row : listCollectives()) {
    if (row.kind == plan::SEND_RECEIVE)
      continue;
    const CollectiveCost cost =
        costOf({row.kind, plan::AUTO, row.ranks, int64_t(row.bytes), 1});
    const double x = double(cost.steps) / row.seconds,
                 y = double(cost.sentBytes) / row.seconds;
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

/// Bytes that fit into no near cache.
constexpr double kLargeBytes = 1 << 20;

/// Work of instructions, in FLOPs or bytes, and the seconds that it took.
struct Spent {
  double work = 0, seconds = 0;

  void add(double more, double took) { work += more, seconds += took; }
  /// The share of a peak that it reached. Small work may come out of caches,
  /// faster than the peak, and a file has no share above 1.
  double shareOf(double peak) const {
    return std::clamp(work / seconds / peak, 1e-6, 1.0);
  }
};

/// Rounds to four digits: measurements are no more precise.
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
  case plan::U8:
    return "f8";
  default:
    return "f32";
  }
}

} // namespace

nlohmann::json Calibration::printCollectives() const {
  nlohmann::json list = nlohmann::json::array();
  for (const MeasuredCollective &each : listCollectives())
    for (auto [name, kind] : kTimedCollectives)
      if (each.kind == kind)
        list.push_back({{"kind", name},
                        {"ranks", each.ranks},
                        {"bytes", each.bytes},
                        {"seconds", rounded(each.seconds)}});
  return list;
}

nlohmann::json Calibration::printProducts(const Share &share, double &fastest) {
  nlohmann::json products = nlohmann::json::array();
  for (const auto &[product, found] : share.products) {
    const auto &[m, n, k, batch, isATurned, isBTurned, type] = product;
    const double flops = 2 * double(m) * double(n) * double(k) * double(batch);
    const double rate = std::max(1.0, flops / undisturbed(found));
    fastest = std::max(fastest, rate);
    nlohmann::json row = {{"m", m}, {"n", n}, {"k", k}, {"batch", batch}};
    row["dtype"] = nameOf(type);
    row["transposed"] = isATurned   ? isBTurned ? "ab" : "a"
                        : isBTurned ? "b"
                                    : "none";
    row["flops_per_s"] = rounded(rate);
    products.push_back(row);
  }
  return products;
}

nlohmann::json Calibration::printInstructions(const Share &share) {
  nlohmann::json measured = nlohmann::json::array();
  for (const auto &[what, found] : share.instructions) {
    const auto &[kind, operators, form, flops, bytes, rate] = what;
    measured.push_back({{"kind", kind},
                        {"operators", operators},
                        {"flops", flops},
                        {"bytes", bytes},
                        {"form", form},
                        {"seconds", rounded(undisturbed(found))}});
  }
  return measured;
}

double Calibration::fastestBytes(const Share &share, bool isOfCopies) {
  double fastest = 0;
  for (const auto &[what, found] : share.instructions) {
    const auto &[kind, operators, form, flops, bytes, rate] = what;
    // Small ones come out of caches.
    if (bytes >= kLargeBytes && (!isOfCopies || kind == kCopyKind))
      fastest = std::max(fastest, bytes / undisturbed(found));
  }
  return fastest;
}

/// Decisions of a compilation know these shares alone, not the rows.
nlohmann::json Calibration::printShares(const Share &share, double flopsPeak,
                                        double bytesPeak) {
  std::map<std::string, Spent> arithmetic; // by the key in the file
  Spent traffic;
  for (const auto &[what, found] : share.instructions) {
    const auto &[kind, operators, form, flops, bytes, rate] = what;
    const double places = double(found.size());
    const double seconds = places * undisturbed(found);
    if (flops > 0 && rate != kMatmulRate) // products have rows
      arithmetic[rate.empty() ? "kernel_flops" : rate].add(places * flops,
                                                           seconds);
    // Copies may go to a second memory; calls with a rate wait for arithmetic.
    if (rate.empty() && kind != kCopyKind)
      traffic.add(places * bytes, seconds);
  }
  nlohmann::json shares = nlohmann::json::object();
  for (const auto &[key, spent] : arithmetic)
    shares[key] = rounded(spent.shareOf(flopsPeak));
  if (traffic.work > 0)
    shares["bytes"] = rounded(traffic.shareOf(bytesPeak));
  return shares;
}

nlohmann::json Calibration::printDevice(int64_t ranks,
                                        const Share &share) const {
  double flopsRate = 1;
  const nlohmann::json products = printProducts(share, flopsRate);
  const double bytesRate = std::max(1.0, fastestBytes(share, false));
  nlohmann::json efficiency = printShares(share, flopsRate, bytesRate);
  efficiency["matmul"] = {{"measured", products}};
  // The host does as much for each of several ranks as for one; but those
  // also wait for one another.
  const Share &alone = shares.begin()->second;
  return {{"name", machine.name},
          {"memory_bytes", double(machine.memoryBytes / uint64_t(ranks))},
          {"memory_bytes_per_s", rounded(bytesRate)},
          {"flops_per_s", {{"f32", rounded(flopsRate)}}},
          {"efficiency", efficiency},
          {"measured", printInstructions(share)},
          {"launch_s", rounded(medianOf(alone.launch))},
          {"call_s", rounded(medianOf(alone.call))},
          {"step_s", rounded(medianOf(alone.step))}};
}

std::string Calibration::print(double computeWhileSending) const {
  nlohmann::json cluster = {{"name", "here"}, {"sources", machine.sources}};
  nlohmann::json list = nlohmann::json::array();
  double hostRate = 0;
  for (const auto &[ranks, share] : shares) {
    hostRate = std::max(hostRate, fastestBytes(share, true) / 2);
    if (ranks == 1)
      cluster["device"] = printDevice(ranks, share);
    else
      list.push_back({{"ranks", ranks}, {"device", printDevice(ranks, share)}});
  }
  cluster["shares"] = list;
  cluster["levels"] = nlohmann::json::array(
      {{{"name", "host"},
        {"size", std::max(machine.cores, linkedRanks)},
        {"bytes_per_s", secondsPerByte > 0 ? rounded(1 / secondsPerByte) : 0},
        {"latency_s", rounded(latencySeconds)}}});
  if (hostRate > 0)
    cluster["host"] = {{"bytes_per_s", rounded(hostRate)}};
  cluster["collectives"] = {
      {"algorithms", {"ring"}},
      {"compute_while_sending", rounded(computeWhileSending)},
      {"measured", printCollectives()}};
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
