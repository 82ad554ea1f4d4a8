//===- ScaleTable.cpp - one model on more and more ranks ------------------===//
#include "compiler/Plan/ScaleTable.h"
#include "compiler/Export/HtmlParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using llvm::formatv;
using namespace zc::html;

namespace zc {
namespace {

using Cells = std::vector<std::string>;

/// "49 h 50 min", "14 min 13 s", "36.96 ms": what a table of days and of
/// milliseconds can hold.
std::string printDuration(double seconds) {
  if (seconds >= 48 * 3600)
    return formatv("{0:F1} d", seconds / 86400).str();
  if (seconds >= 3599.5) {
    const int64_t minutes = std::llround(seconds / 60);
    return formatv("{0} h {1} min", minutes / 60, minutes % 60).str();
  }
  if (seconds >= 59.995) {
    const int64_t all = std::llround(seconds);
    return formatv("{0} min {1} s", all / 60, all % 60).str();
  }
  if (seconds >= 0.999995)
    return formatv("{0:F2} s", seconds).str();
  return seconds >= 0.99995e-3 ? formatv("{0:F2} ms", seconds * 1e3).str()
                               : formatv("{0:F1} us", seconds * 1e6).str();
}

/// Samples a second, or steps where nothing counts samples.
double speedOf(const ScaleRow &row) {
  if (!row.failure.empty() || row.stepSeconds <= 0)
    return 0;
  return row.samplesPerSecond > 0 ? row.samplesPerSecond : 1 / row.stepSeconds;
}

/// The row that all others are compared with; null: no row has a plan.
const ScaleRow *findFirst(const ScaleTable &table) {
  auto found = llvm::find_if(
      table.rows, [](const ScaleRow &row) { return speedOf(row) > 0; });
  return found == table.rows.end() ? nullptr : &*found;
}

bool hasTime(const ScaleTable &table) {
  return table.tokens > 0 && llvm::any_of(table.rows, [](const ScaleRow &row) {
           return row.tokensPerSecond > 0;
         });
}

Cells headOf(const ScaleTable &table) {
  Cells cells = {"nodes", "ranks", "batch", "step", "samples/s"};
  if (hasTime(table))
    cells.push_back("time");
  cells.insert(cells.end(), {"speed-up", "efficiency", "memory"});
  return cells;
}

Cells cellsOf(const ScaleTable &table, size_t index) {
  const ScaleRow &row = table.rows[index];
  const bool isPlanned = speedOf(row) > 0;
  auto cell = [&](bool isKnown, const auto &text) {
    return isPlanned && isKnown ? std::string(text()) : std::string("-");
  };
  Cells cells = {std::to_string(row.nodes), std::to_string(row.ranks),
                 cell(row.batch > 0, [&] { return std::to_string(row.batch); }),
                 cell(true, [&] { return printDuration(row.stepSeconds); }),
                 cell(row.samplesPerSecond > 0, [&] {
                   return formatv("{0:F1}", row.samplesPerSecond).str();
                 })};
  if (hasTime(table))
    cells.push_back(cell(row.tokensPerSecond > 0, [&] {
      return printDuration(table.tokens / row.tokensPerSecond);
    }));
  cells.push_back(cell(
      true, [&] { return formatv("{0:F1} x", speedUps(table)[index]).str(); }));
  cells.push_back(cell(true, [&] {
    return formatv("{0:F1} %", 100 * efficiencies(table)[index]).str();
  }));
  cells.push_back(cell(true, [&] {
    return printSize(uint64_t(row.peak)) + (row.fits ? "" : " DOES NOT FIT");
  }));
  return cells;
}

/// Says what names of columns do not.
std::string explain(const ScaleTable &table) {
  const ScaleRow *first = findFirst(table);
  if (!first)
    return "";
  std::string text =
      formatv("speed-up: {0} a second beside those of {1} rank{2}; efficiency: "
              "its share of the ranks' ratio",
              first->samplesPerSecond > 0 ? "samples" : "steps", first->ranks,
              first->ranks == 1 ? "" : "s")
          .str();
  if (hasTime(table))
    text += formatv("; time: of {0:F0} tokens, labels where each sample has "
                    "one",
                    table.tokens)
                .str();
  return text;
}

/// Speed-ups over ranks, on logarithmic axes: the ideal is a straight line.
std::string drawSpeedUps(const ScaleTable &table) {
  const std::vector<double> speeds = speedUps(table);
  std::vector<size_t> drawn; // those that have a plan, by their ranks
  for (size_t i = 0; i < table.rows.size(); ++i)
    if (speeds[i] > 0)
      drawn.push_back(i);
  if (drawn.empty())
    return "";
  llvm::stable_sort(drawn, [&](size_t a, size_t b) {
    return table.rows[a].ranks < table.rows[b].ranks;
  });
  const ScaleRow &least = table.rows[drawn.front()];
  const double slowest = speeds[drawn.front()];
  double most = 1;
  for (size_t i : drawn)
    most = std::max({most, double(table.rows[i].ranks) / double(least.ranks),
                     speeds[i] / slowest});
  const auto scale = [&](double ratio, double length) {
    return most > 1 ? length * std::log(std::max(1.0, ratio)) / std::log(most)
                    : 0.0;
  };
  std::string text = openSvg(kHeight) +
                     "<path fill=\"none\" stroke=\"#999\" "
                     "stroke-dasharray=\"6 4\" d=\"M0 " +
                     std::to_string(kHeight) + "L" + std::to_string(kWidth) +
                     " 0\"><title>no loss</title></path>\n";
  std::string line;
  for (size_t i : drawn) {
    const ScaleRow &row = table.rows[i];
    const double x = scale(double(row.ranks) / double(least.ranks), kWidth);
    const double y = kHeight - scale(speeds[i] / slowest, kHeight);
    line += (line.empty() ? "M" : "L") + number(x) + " " + number(y);
    text += "<circle r=\"4\" fill=\"#4c72b0\" cx=\"" + number(x) + "\" cy=\"" +
            number(y) + "\"><title>" +
            escape(formatv("{0} ranks: {1:F1} x", row.ranks, speeds[i]).str()) +
            "</title></circle>\n" +
            word(std::clamp<double>(x, 12, kWidth - 20), kHeight + 16, "middle",
                 std::to_string(row.ranks));
  }
  return text + "<path fill=\"none\" stroke=\"#4c72b0\" d=\"" + line +
         "\"/>\n" + word(-6, 10, "end", formatv("{0:F0} x", most).str()) +
         word(-6, kHeight, "end", "1 x") +
         word(kWidth / 2.0, kHeight + 32, "middle", "ranks") + "</svg>\n";
}

} // namespace

void takeReport(const PlanReport &report, int64_t batch, ScaleRow &row) {
  row.ranks = report.ranks;
  row.batch = batch;
  row.stepSeconds = report.stepSeconds;
  row.samplesPerSecond = report.samplesPerSecond;
  row.tokensPerSecond = report.tokensPerSecond;
  row.peak = double(report.roles[size_t(report.largestRole)].memory.peak);
  row.fits = report.fits();
}

std::vector<double> speedUps(const ScaleTable &table) {
  const ScaleRow *first = findFirst(table);
  std::vector<double> ratios;
  for (const ScaleRow &row : table.rows)
    ratios.push_back(first ? speedOf(row) / speedOf(*first) : 0);
  return ratios;
}

std::vector<double> efficiencies(const ScaleTable &table) {
  const ScaleRow *first = findFirst(table);
  std::vector<double> shares = speedUps(table);
  for (size_t i = 0; first && i < shares.size(); ++i)
    shares[i] *= double(first->ranks) / double(table.rows[i].ranks);
  return shares;
}

std::string printScaleTable(const ScaleTable &table) {
  std::vector<Cells> lines = {headOf(table)};
  for (size_t i = 0; i < table.rows.size(); ++i)
    lines.push_back(cellsOf(table, i));
  std::vector<size_t> widths(lines.front().size());
  for (const Cells &cells : lines)
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  std::string text =
      table.model + " on " + table.cluster + ", by " + table.axis + "\n\n";
  for (size_t line = 0; line < lines.size(); ++line) {
    for (size_t i = 0; i < widths.size(); ++i)
      text += (i > 0 ? "   " : "") +
              std::string(widths[i] - lines[line][i].size(), ' ') +
              lines[line][i];
    text += '\n';
    if (line > 0 && !table.rows[line - 1].failure.empty())
      text += "  " + table.rows[line - 1].failure + "\n";
  }
  if (const std::string said = explain(table); !said.empty())
    text += "\n" + said + "\n";
  if (!table.missingOptions.empty() && findFirst(table))
    text +=
        "(zc compile makes a row with these options, its mesh and batch, and " +
        table.missingOptions + ")\n";
  return text;
}

std::string scaleTableAsJson(const ScaleTable &table) {
  using Json = nlohmann::ordered_json;
  const std::vector<double> speeds = speedUps(table),
                            shares = efficiencies(table);
  Json rows = Json::array();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const ScaleRow &row = table.rows[i];
    Json json = {
        {"size", row.size}, {"nodes", row.nodes}, {"ranks", row.ranks}};
    if (row.failure.empty()) {
      json.update({{"batch", row.batch},
                   {"step_s", row.stepSeconds},
                   {"samples_per_s", row.samplesPerSecond},
                   {"tokens_per_s", row.tokensPerSecond},
                   {"speed_up", speeds[i]},
                   {"efficiency", shares[i]},
                   {"memory", row.peak},
                   {"fits", row.fits}});
      if (table.tokens > 0 && row.tokensPerSecond > 0)
        json["seconds"] = table.tokens / row.tokensPerSecond;
    } else {
      json["failure"] = row.failure;
    }
    rows.push_back(json);
  }
  return Json{{"scaling",
               {{"axis", table.axis},
                {"missing_options", table.missingOptions},
                {"rows", rows}}}}
      .dump(2);
}

std::string scaleTableAsHtml(const ScaleTable &table) {
  const std::string title = escape(table.model + " on " + table.cluster);
  std::string text = std::string(kHead) + "<title>" + title +
                     "</title></head><body>\n<h1>" + title +
                     "</h1>\n<table><tr>";
  for (const std::string &cell : headOf(table))
    text += "<th class=\"n\">" + cell + "</th>";
  text += "</tr>\n";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    text += "<tr>";
    for (const std::string &cell : cellsOf(table, i))
      text += "<td class=\"n\">" + escape(cell) + "</td>";
    text += "</tr>\n";
    if (!table.rows[i].failure.empty())
      text += "<tr><td colspan=\"" + std::to_string(headOf(table).size()) +
              "\">" + escape(table.rows[i].failure) + "</td></tr>\n";
  }
  text += "</table>\n<p>" + escape(explain(table)) + "</p>\n";
  if (const std::string curve = drawSpeedUps(table); !curve.empty())
    text += "<h2>Speed-up</h2>\n" + curve;
  return text + "</body></html>\n";
}

} // namespace zc
