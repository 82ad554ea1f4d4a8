//===- PlanHtml.cpp - a plan as one page ----------------------------------===//
//
// Drawings are SVG in the page itself: nothing is fetched and no script runs.
// A track of more spans than its share of the page is drawn in slices of equal
// time instead.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/HtmlParts.h"
#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/SpanTracks.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/StepPhases.h"
#include "runtime/Plan/StreamNumbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

using namespace zc::html;

namespace zc {
namespace {

/// A page has at most so many rectangles: some three megabytes.
constexpr size_t kMostRectangles = 16000;
constexpr size_t kMostSlices = 1000; // of one track
constexpr int kTrackHeight = 16, kTrackStep = 20;

enum Work {
  Forward,
  Backward,
  Both, // a program of a micro-batch, or of the step
  Update,
  Collective,
  Copy,
  Message,
  kNumWorks
};

constexpr std::pair<const char *, const char *> kWorks[kNumWorks] = {
    {"forward", "#4c72b0"},
    {"backward", "#dd8452"},
    {"forward and backward", "#8c8c8c"},
    {"optimizer", "#55a868"},
    {"collectives", "#c44e52"},
    {"second memory", "#937860"},
    {"messages", "#8172b3"}};

struct Piece {
  double begin = 0, end = 0;
  Work work = Forward;
  int quarters = 4; // of its length that something happens; 4: all of it
  const SimulatedSpan *span = nullptr; // or a slice
};

/// By role, and by track.
using Tracks = std::map<uint32_t, std::map<uint32_t, std::vector<Piece>>>;

bool isOfBackward(const std::string &base) {
  return base == programs::kBackward || base == programs::kWeights;
}

/// The work of a whole program, by its name.
Work workOfProgram(const std::string &base) {
  if (isOfBackward(base))
    return Backward;
  if (base == programs::kApply || base == programs::kCompressedApply)
    return Update;
  if (base == programs::kGather)
    return Collective;
  return base == programs::kForward ? Forward : Both;
}

class Painter {
public:
  Work workOf(const SimulatedSpan &span) {
    if (span.message)
      return Message;
    const std::string base = ProgramName::parse(span.program->name()).base;
    if (span.kind == SimulatedSpan::Kind::Call)
      return workOfProgram(base);
    const plan::Instruction &instruction =
        span.program->instructions(span.instruction);
    if (instruction.has_collective())
      return Collective;
    if (streams::isOfCopies(instruction.stream()))
      return Copy;
    auto [known, isNew] = phases.try_emplace(span.program);
    if (isNew)
      known->second = phasesOf(*span.program);
    const StepPhase phase = known->second[size_t(span.instruction)];
    return phase == StepPhase::Optimizer                        ? Update
           : phase == StepPhase::Backward || isOfBackward(base) ? Backward
                                                                : Forward;
  }

private:
  std::map<const plan::Program *, std::vector<StepPhase>> phases;
};

Tracks collectTracks(const PlanReport &report) {
  Tracks tracks;
  Painter painter;
  for (const SimulatedSpan &span : report.simulated.orders.spans)
    tracks[span.role][trackOf(span)].push_back(
        {span.begin, span.end, painter.workOf(span), 4, &span});
  for (auto &[role, each] : tracks)
    for (auto &[track, pieces] : each)
      std::stable_sort(
          pieces.begin(), pieces.end(),
          [](const Piece &a, const Piece &b) { return a.begin < b.begin; });
  return tracks;
}

/// The work that takes most of a slice, in quarters of it; equal neighbours are
/// one piece.
std::vector<Piece> slice(const std::vector<Piece> &pieces, double seconds,
                         size_t slices) {
  std::vector<std::array<double, kNumWorks>> busy(slices);
  const double width = seconds / double(slices);
  for (const Piece &piece : pieces)
    for (size_t i = std::min(slices - 1, size_t(piece.begin / width));
         i < slices && double(i) * width < piece.end; ++i)
      busy[i][piece.work] +=
          std::max(0.0, std::min(piece.end, double(i + 1) * width) -
                            std::max(piece.begin, double(i) * width));
  std::vector<Piece> drawn;
  for (size_t i = 0; i < slices; ++i) {
    const auto most = std::max_element(busy[i].begin(), busy[i].end());
    const double total = std::accumulate(busy[i].begin(), busy[i].end(), 0.0);
    if (total <= 0)
      continue;
    const int quarters = std::clamp(int(std::lround(4 * total / width)), 1, 4);
    const Work work = Work(most - busy[i].begin());
    const double begin = double(i) * width, end = double(i + 1) * width;
    if (!drawn.empty() && drawn.back().work == work &&
        drawn.back().quarters == quarters &&
        drawn.back().end > begin - width / 2)
      drawn.back().end = end;
    else
      drawn.push_back({begin, end, work, quarters, nullptr});
  }
  return drawn;
}

/// "1.234 ms".
std::string milliseconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6g ms", seconds * 1e3);
  return text;
}

/// Lines at round times, in milliseconds.
std::string drawTimeAxis(double seconds, int height) {
  std::string text;
  for (const Tick &tick : roundTicks(seconds * 1e3, 8)) {
    const double x = kWidth * tick.value / (seconds * 1e3);
    text += "<path fill=\"none\" stroke=\"#ddd\" d=\"M" + number(x) + " 0V" +
            std::to_string(height) + "\"/>\n" +
            word(std::min<double>(x, kWidth - 20), height + 16, "middle",
                 tick.text + " ms");
  }
  return text;
}

std::string drawPiece(const Piece &piece, double seconds, double y) {
  const auto &[name, color] = kWorks[piece.work];
  std::string title =
      (piece.span ? labelOf(*piece.span)
                  : "mostly " + std::string(name) + ", busy for about " +
                        std::to_string(25 * piece.quarters) + " %") +
      "\n" + milliseconds(piece.begin) + " to " + milliseconds(piece.end);
  std::string shade =
      piece.quarters < 4
          ? " fill-opacity=\"" + number(0.25 * piece.quarters) + "\""
          : "";
  return "<rect x=\"" + number(kWidth * piece.begin / seconds) + "\" y=\"" +
         number(y) + "\" width=\"" +
         number(std::max(0.05, kWidth * (piece.end - piece.begin) / seconds)) +
         "\" height=\"" + std::to_string(kTrackHeight) + "\" fill=\"" + color +
         "\"" + shade + "><title>" + escape(title) + "</title></rect>\n";
}

/// A role's tracks, the order on top, below one another.
std::string drawTracks(const std::map<uint32_t, std::vector<Piece>> &tracks,
                       double seconds, size_t mostPieces) {
  std::vector<uint32_t> order;
  for (const auto &[track, pieces] : tracks)
    order.push_back(track);
  std::stable_sort(order.begin(), order.end(), [](uint32_t a, uint32_t b) {
    return (a == kOrderTrack) > (b == kOrderTrack);
  });
  const int height = int(order.size()) * kTrackStep;
  std::string text = openSvg(height) + drawTimeAxis(seconds, height);
  double y = 2;
  for (uint32_t track : order) {
    const std::vector<Piece> &all = tracks.at(track);
    text += word(-6, y + kTrackHeight - 4, "end", nameOfTrack(track));
    for (const Piece &piece :
         all.size() > mostPieces ? slice(all, seconds, mostPieces) : all)
      text += drawPiece(piece, seconds, y);
    y += kTrackStep;
  }
  return text + "</svg>\n";
}

/// The most bytes of a role in each of `slices` parts of the time: those that
/// are always allocated, and those that its programs' instructions hold
/// besides.
std::vector<uint64_t> memoryOverTime(const PlanReport &report, uint32_t role,
                                     double seconds, size_t slices) {
  const MemoryReport &memory = report.roles[role].memory;
  const uint64_t held = memory.persistentBytes + memory.flightBytes;
  std::map<std::string, const ProgramMemory *> programs;
  for (const ProgramMemory &program : memory.programs)
    programs[program.name] = &program;
  std::vector<uint64_t> bytes(slices, held);
  for (const SimulatedSpan &span : report.simulated.orders.spans) {
    if (span.role != role || span.kind != SimulatedSpan::Kind::Instruction)
      continue;
    auto found = programs.find(span.program->name());
    if (found == programs.end() ||
        size_t(span.instruction) >= found->second->timeline.size())
      continue;
    const ClassBytes &live = found->second->timeline[size_t(span.instruction)];
    const uint64_t most =
        held + std::accumulate(live.begin(), live.end(), uint64_t(0));
    const double perSecond = double(slices) / seconds;
    for (size_t i = std::min(slices - 1, size_t(span.begin * perSecond));
         i < slices && double(i) < span.end * perSecond; ++i)
      bytes[i] = std::max(bytes[i], most);
  }
  return bytes;
}

std::string drawRoleMemory(const PlanReport &report, uint32_t role,
                           double seconds, uint64_t scale) {
  constexpr size_t kSlices = 500;
  constexpr int kTall = 120;
  const MemoryReport &memory = report.roles[role].memory;
  const std::vector<uint64_t> bytes =
      memoryOverTime(report, role, seconds, kSlices);
  const auto y = [&](uint64_t value) {
    return number(kTall - kTall * double(value) / double(scale));
  };
  std::string text = openSvg(kTall) + drawTimeAxis(seconds, kTall);
  for (const Tick &tick : sizeTicks(scale, 3))
    text += word(-6, kTall - kTall * tick.value / double(scale) + 4, "end",
                 tick.text);
  std::string upper;
  for (size_t i = 0; i < kSlices; ++i)
    for (size_t end : {i, i + 1})
      upper += number(kWidth * double(end) / kSlices) + "," + y(bytes[i]) + " ";
  const std::string low = y(memory.persistentBytes + memory.flightBytes);
  text += "<polygon fill=\"#8172b3\" points=\"" + upper +
          std::to_string(kWidth) + "," + low + " 0," + low +
          "\"><title>while programs run</title></polygon>\n<rect x=\"0\" y=\"" +
          low + "\" width=\"" + std::to_string(kWidth) + "\" height=\"" +
          number(kTall * double(memory.persistentBytes + memory.flightBytes) /
                 double(scale)) +
          "\" fill=\"#4c72b0\"><title>states and micro-batches in flight"
          "</title></rect>\n";
  return text + "</svg>\n<p>at most " +
         printSize(*std::max_element(bytes.begin(), bytes.end())) +
         " live of the " + printSize(memory.peak) +
         " that are allocated: " + printSize(memory.persistentBytes) +
         " of states, " + printSize(memory.flightBytes) +
         " of micro-batches in flight, the rest while programs run</p>\n";
}

std::string legendOfWorks() {
  std::string text = "<p class=\"legend\">";
  for (const auto &[name, color] : kWorks)
    text += std::string("<span style=\"background:") + color + "\"></span>" +
            name + " ";
  return text + "</p>\n<p>Where a track has more spans than the page has room "
                "for, it is drawn in slices of equal time: each has the colour "
                "of what takes most of it, paler where less happens.</p>\n";
}

} // namespace

std::string planAsHtml(const plan::Manifest &manifest, const Cluster &cluster,
                       const PlanReport &report, double tokens) {
  const std::string title =
      escape(manifest.model_name() + " on " + cluster.name);
  const double seconds = std::max(1e-12, report.simulated.orders.seconds);
  std::string text = std::string(kHead) + "<title>" + title +
                     "</title></head><body>\n<h1>" + title + "</h1>\n<pre>" +
                     escape(printPlan(manifest, cluster, report, tokens)) +
                     "</pre>\n<h2>Timeline</h2>\n" + legendOfWorks();
  if (report.simulated.run)
    text += "<p>Steps overlap: several are drawn, from the first of a run to "
            "its last.</p>\n";
  const Tracks tracks = collectTracks(report);
  size_t numTracks = 1;
  uint64_t scale = 1;
  for (const auto &[role, each] : tracks)
    numTracks += each.size();
  for (const PlannedRole &role : report.roles)
    scale = std::max(scale, role.memory.peak);
  const size_t most =
      std::clamp<size_t>(kMostRectangles / numTracks, 20, kMostSlices);
  for (const auto &[role, each] : tracks)
    text += "<h3>Role " + std::to_string(role) + ", " +
            std::to_string(report.roles[role].ranks) +
            (report.roles[role].ranks == 1 ? " rank" : " ranks") + "</h3>\n" +
            drawTracks(each, seconds, most);
  text += "<h2>Memory</h2>\n<p class=\"legend\"><span "
          "style=\"background:#4c72b0\"></span>states and micro-batches in "
          "flight <span style=\"background:#8172b3\"></span>while programs "
          "run</p>\n";
  for (uint32_t role = 0; role < report.roles.size(); ++role)
    text += "<h3>Role " + std::to_string(role) + "</h3>\n" +
            drawRoleMemory(report, role, seconds, scale);
  return text + "</body></html>\n";
}

} // namespace zc
