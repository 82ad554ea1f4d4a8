//===- InspectHtml.cpp - the report as one page ---------------------------===//
//
// Drawings are SVG in the page itself, made here: nothing is fetched and no
// script runs.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/HtmlParts.h"
#include "compiler/Export/InspectOverview.h"
#include "compiler/Export/InspectPictures.h"
#include "compiler/Export/InspectUse.h"
#include "runtime/Plan/StreamNumbers.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cstdio>

using namespace zc::html;

namespace zc {
namespace {

constexpr int kTrack = 28;

/// The kinds that most steps are made of. All others share the last color: a
/// new kind needs no row.
constexpr std::pair<const char *, const char *> kColors[] = {
    {"matmul", "#4c72b0"},
    {"convolution", "#dd8452"},
    {"kernel", "#55a868"},
    {"other", "#999999"}};

const char *colorOf(const std::string &kind) {
  for (auto [known, color] : kColors)
    if (kind == known)
      return color;
  return std::end(kColors)[-1].second;
}

/// The colors of streams.
std::string legendOfKinds() {
  std::string text = "<p class=\"legend\">";
  for (auto [kind, color] : kColors)
    text += std::string("<span style=\"background:") + color + "\"></span>" +
            kind + " ";
  return text + "</p>\n";
}

const char *const kMeaningOfLengths =
    "<p>One row for each stream. Nothing here is measured: an instruction is "
    "as "
    "long as its share of the program's cost, which is the number of its "
    "arithmetic operations, or ten times that of the bytes that it reads and "
    "writes, whichever is larger.</p>\n";

/// How long an instruction is drawn: by its arithmetic or its traffic,
/// whichever is more at ten operations a byte.
double weightOf(const plan::Instruction &instruction) {
  return std::max(instruction.flops(), 10 * instruction.bytes()) + 1;
}

/// Names of the streams on the left, shares of the costs below.
std::string drawStreamAxes(uint32_t streams) {
  const int height = int(streams) * kTrack;
  std::string text;
  for (uint32_t stream = 0; stream < streams; ++stream)
    text += word(-6, stream * kTrack + kTrack / 2 + 4, "end",
                 streams::nameOf(stream));
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const double x = kWidth * tenth / 10.0;
    text += "<path fill=\"none\" stroke=\"#ddd\" d=\"M" + number(x) + " 0V" +
            std::to_string(height) + "\"/>\n";
    if (tenth % 2 == 0)
      text += word(x, height + 16,
                   tenth == 0   ? "start"
                   : tenth < 10 ? "middle"
                                : "end",
                   std::to_string(10 * tenth) + " %");
  }
  return text + word(kWidth / 2.0, height + 32, "middle", "share of all costs");
}

std::string drawStreams(const plan::Program &program) {
  uint32_t streams = 1;
  double total = 1;
  for (const plan::Instruction &instruction : program.instructions()) {
    streams = std::max(streams, instruction.stream() + 1);
    total += weightOf(instruction);
  }
  std::string text = openSvg(int(streams) * kTrack) + drawStreamAxes(streams);
  double x = 0;
  for (const plan::Instruction &instruction : program.instructions()) {
    double width = weightOf(instruction) / total * kWidth;
    char costs[80];
    std::snprintf(costs, sizeof(costs), "\n%.3f MFLOP, %.3f MB",
                  instruction.flops() / 1e6, instruction.bytes() / 1e6);
    std::string kind = getKind(instruction);
    text += rectangle(x, instruction.stream() * kTrack + 2, width, kTrack - 4,
                      colorOf(kind), kind + " " + instruction.label() + costs);
    x += width;
  }
  return text + "</svg>\n";
}

std::string memoryTable(const plan::Role &role, const MemoryReport &report) {
  std::string text = "<table><tr><th>class</th><th>bytes at most</th></tr>\n";
  auto row = [&](const std::string &name, uint64_t bytes) {
    text += "<tr><td>" + name + "</td><td class=\"n\">" + printSize(bytes) +
            "</td></tr>\n";
  };
  for (const ClassStyle &style : kClasses) {
    std::string name = style.name;
    const double each = report.perParameter(style.memoryClass);
    if (each > 0 && (style.memoryClass == plan::PARAMETERS ||
                     style.memoryClass == plan::GRADIENTS ||
                     style.memoryClass == plan::OPTIMIZER_STATE))
      name += ", " + number(each) + " bytes a parameter";
    row(name, report.classes[style.memoryClass]);
  }
  row("persistent", report.persistentBytes);
  if (report.flightBytes > 0)
    row("micro-batches in flight", report.flightBytes);
  row("<b>peak</b>", report.peak);
  if (report.offloadedBytes > 0)
    row("offloaded, beside the peak", report.offloadedBytes);
  return text + "</table>\n<p>" + std::to_string(role.states_size()) +
         " states</p>\n";
}

/// How long activations live, as bars of bytes; the longest is named.
std::string drawLifetimes(const plan::Program &program) {
  const Lifetimes found = measureLifetimes(program);
  if (found.longest == 0)
    return "";
  constexpr int kBars = 120;
  const double most = double(
      *std::max_element(found.bytesByTenth.begin(), found.bytesByTenth.end()));
  std::string text = "<h3>How long activations live</h3>\n" + openSvg(kBars);
  for (size_t i = 0; i < found.bytesByTenth.size(); ++i) {
    const double x = kWidth * double(i) / 10;
    const double height = kBars * double(found.bytesByTenth[i]) / most;
    text +=
        rectangle(x + 2, kBars - height, kWidth / 10.0 - 4, height, "#8172b3",
                  strCat(printSize(found.bytesByTenth[i]), " in ",
                         found.countByTenth[i], " tensors")) +
        word(x + kWidth / 20.0, kBars + 16, "middle",
             std::to_string(10 * (i + 1)) + " %");
  }
  text += word(kWidth / 2.0, kBars + 32, "middle",
               "up to this share of the instructions");
  for (const Tick &tick : sizeTicks(uint64_t(most), 3))
    text += word(-6, kBars * (1 - tick.value / most) + 4, "end", tick.text);
  return text + "</svg>\n<p>Longest: from " + escape(found.longestFrom) +
         " to " + escape(found.longestTo) + "</p>\n";
}

std::string instructionTable(const plan::Program &program) {
  std::string text = "<details><summary>" +
                     std::to_string(program.instructions_size()) +
                     " instructions</summary><table><tr><th></th><th>kind</th>"
                     "<th>MFLOP</th><th>MB</th><th>what</th></tr>\n";
  for (int i = 0; i < program.instructions_size(); ++i) {
    const plan::Instruction &instruction = program.instructions(i);
    text += "<tr><td class=\"n\">" + std::to_string(i) + "</td><td>" +
            getKind(instruction) + "</td><td class=\"n\">" +
            number(instruction.flops() / 1e6) + "</td><td class=\"n\">" +
            number(instruction.bytes() / 1e6) + "</td><td>" +
            escape(instruction.label()) + "</td></tr>\n";
  }
  return text + "</table></details>\n";
}

/// Memory and programs of one role.
std::string drawRole(const plan::Manifest &manifest, int index) {
  const plan::Role &role = manifest.roles(index);
  MemoryReport report = measureMemory(manifest, index);
  std::string whose = manifest.roles_size() > 1
                          ? " of role " + std::to_string(index)
                          : std::string();
  std::string text = "<h2>Memory" + whose + "</h2>\n" +
                     memoryTable(role, report) + drawPeak(report) + legend();
  for (int i = 0; i < role.programs_size(); ++i) {
    const plan::Program &program = role.programs(i);
    text += "<h2>Program " + escape(program.name()) + whose +
            "</h2>\n<h3>Transient memory, instruction by instruction</h3>\n" +
            drawMemory(report.programs[i], mostBytes(report.programs[i]),
                       report.programs[i].timeline.size()) +
            tableOfLive(program, report.programs[i]) + drawLifetimes(program) +
            "<h3>Streams</h3>\n" + (i == 0 ? kMeaningOfLengths : "") +
            drawStreams(program) + legendOfKinds() + instructionTable(program);
  }
  return text;
}

} // namespace

std::string inspectAsHtml(const plan::Manifest &manifest) {
  std::string model = escape(manifest.model_name());
  std::string text = std::string(kHead) + "<title>" + model +
                     "</title></head><body>\n<h1>" + model + "</h1>\n<p>" +
                     escape(manifest.mode()) + ", zc " +
                     escape(manifest.zc_version());
  if (!manifest.loss().empty())
    text += ", loss " + escape(manifest.loss());
  if (!manifest.optimizer().empty())
    text += ", optimizer " + escape(manifest.optimizer());
  if (manifest.batch() > 0)
    text += ", batch " + std::to_string(manifest.batch());
  const auto threads = manifest.target().threads();
  text += strCat(
      ", at most ", threads, threads == 1 ? " thread</p>\n" : " threads</p>\n",
      overviewAsHtml(describeOverview(manifest)), drawRanks(manifest));
  for (int role = 0; role < manifest.roles_size(); ++role)
    text += drawRole(manifest, role);
  return text + "</body></html>\n";
}

} // namespace zc
