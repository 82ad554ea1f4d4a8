//===- InspectPictures.cpp - who has what, and when -----------------------===//
#include "compiler/Export/InspectPictures.h"
#include "compiler/Export/HtmlParts.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <numeric>

namespace zc::html {

std::string drawPeak(const MemoryReport &report) {
  constexpr int kBar = 36;
  if (report.peak == 0)
    return "";
  std::string text = "<h3>At the peak</h3>\n" + openSvg(kBar);
  double x = 0;
  auto part = [&](const char *name, uint64_t bytes, const char *color) {
    const double width = kWidth * double(bytes) / double(report.peak);
    if (bytes > 0)
      text += rectangle(x, 0, width, kBar, color,
                        strCat(name, ", ", printSize(bytes)));
    x += width;
  };
  for (const ClassStyle &style : kClasses)
    part(style.name, report.atPeak[style.memoryClass], style.color);
  part("unused", report.unusedAtPeak, "#ccc");
  for (const Tick &tick : sizeTicks(report.peak, 5))
    text += word(kWidth * tick.value / double(report.peak), kBar + 16, "middle",
                 tick.text);
  return text + "</svg>\n<p>" + printSize(report.peak) +
         ": states of the model " + printSize(report.modelStates()) +
         ", residual states " + printSize(report.peak - report.modelStates()) +
         ", of which " +
         number(100 * double(report.unusedAtPeak) / double(report.peak)) +
         " % of the peak are of no use (grey).</p>\n";
}

namespace {

/// A color for each part of a tensor, and for what comes behind the last.
constexpr const char *kParts[] = {"#4c72b0", "#dd8452", "#55a868", "#c44e52",
                                  "#8172b3", "#937860", "#da8bc3", "#ccb974"};

std::string tableOfCopies(const plan::Manifest &manifest) {
  const ResidentCopies copies = countCopies(manifest);
  auto row = [](const char *name, double count) {
    return strCat("<tr><td>", name, "</td><td class=\"n\">", number(count),
                  "</td></tr>\n");
  };
  return "<h2>Copies</h2>\n<p>What all ranks hold together, as a multiple of "
         "whole tensors; of gradients the most at once.</p>\n<table><tr>"
         "<th>class</th><th>copies</th></tr>\n" +
         row("parameters", copies.parameters) +
         row("gradients", copies.gradients) +
         row("optimizer", copies.optimizer) + "</table>\n";
}

/// Into how many parts the axes divide a dim, and their names: "dp+tp".
struct Cut {
  int64_t parts = 1;
  std::string axes;
};

class Tensors {
public:
  explicit Tensors(const plan::Manifest &manifest) {
    for (const plan::Setting &axis : manifest.mesh())
      sizes[axis.name()] = std::strtoll(axis.value().c_str(), nullptr, 10);
  }

  /// Some tensors of a role in rows of five.
  std::string draw(const plan::Role &role) const {
    const std::vector<const plan::TensorDivision *> shown = choose(role);
    if (shown.empty())
      return "";
    const int rows = int(shown.size() + kEach - 1) / kEach;
    std::string text = openSvg(rows * kPitch - 40);
    for (size_t i = 0; i < shown.size(); ++i)
      text += drawOne(*shown[i], double(i % kEach) * kWidth / kEach,
                      double(i / kEach) * kPitch);
    return text + "</svg>\n";
  }

private:
  static constexpr int kEach = 5, kPitch = 110, kTall = 70, kWide = 180;
  static constexpr int64_t kMostParts = 16; // that are drawn of a dim

  /// The first inputs, then the largest parameters, in the model's order.
  static std::vector<const plan::TensorDivision *>
  choose(const plan::Role &role) {
    std::vector<const plan::TensorDivision *> inputs, parameters;
    for (const plan::TensorDivision &division : role.divisions())
      if (division.kind() == "input" && !division.type().dims().empty())
        inputs.push_back(&division);
      else if (division.kind() == "parameter")
        parameters.push_back(&division);
    inputs.resize(std::min<size_t>(inputs.size(), 2));
    keepLargest(parameters, 2 * kEach - inputs.size());
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    return inputs;
  }

  static void keepLargest(std::vector<const plan::TensorDivision *> &all,
                          size_t count) {
    if (all.size() <= count)
      return;
    auto sizeOf = [&](size_t i) {
      const Result<uint64_t> elements = elementCount(all[i]->type());
      return elements.ok() ? *elements : 0;
    };
    std::vector<size_t> order(all.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return sizeOf(a) > sizeOf(b); });
    std::sort(order.begin(), order.begin() + int64_t(count));
    for (size_t i = 0; i < count; ++i) // order[i] >= i
      all[i] = all[order[i]];
    all.resize(count);
  }

  Cut cutOf(const plan::DimSharding &dim) const {
    Cut cut;
    for (const std::string &axis : dim.axes()) {
      cut.axes += (cut.axes.empty() ? "" : "+") + axis;
      if (auto found = sizes.find(axis); found != sizes.end())
        cut.parts *= found->second;
    }
    return cut;
  }

  /// The first two dims, from top to bottom and from left to right; one dim
  /// from left to right.
  std::string drawOne(const plan::TensorDivision &division, double x,
                      double y) const {
    const auto &dims = division.sharding().dims();
    Cut rows, columns;
    if (dims.size() > 0)
      (dims.size() > 1 ? rows : columns) = cutOf(dims[0]);
    if (dims.size() > 1)
      columns = cutOf(dims[1]);
    const int64_t height = std::min(rows.parts, kMostParts),
                  width = std::min(columns.parts, kMostParts);
    std::string text;
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column)
        text += rectangle(
            x + double(kWide * column) / double(width),
            y + double(kTall * row) / double(height), double(kWide) / width - 1,
            double(kTall) / height - 1,
            kParts[size_t(row * columns.parts + column) % std::size(kParts)],
            strCat(division.name(), ", part ", row * columns.parts + column,
                   " of ", rows.parts * columns.parts));
    return text + word(x, y + kTall + 14, "start", shorten(division.name())) +
           word(x, y + kTall + 28, "start",
                describe(division.type(), rows, columns, dims.size()));
  }

  static std::string shorten(const std::string &name) {
    constexpr size_t kMost = 26;
    return name.size() <= kMost ? name
                                : "..." + name.substr(name.size() - kMost + 3);
  }

  /// "[64, 256] by -, tp"; "[64, 256] by -, tp (16 of 64 drawn)".
  static std::string describe(const plan::TensorType &type, const Cut &rows,
                              const Cut &columns, int rank) {
    auto name = [](const Cut &cut) {
      if (cut.parts > kMostParts)
        return strCat(cut.axes, " (", kMostParts, " of ", cut.parts, " drawn)");
      return cut.axes.empty() ? std::string("-") : cut.axes;
    };
    std::string dims;
    for (int64_t size : type.dims())
      dims += (dims.empty() ? "" : ", ") + std::to_string(size);
    return "[" + dims + "] by " +
           (rank > 1 ? name(rows) + ", " + name(columns) : name(columns));
  }

  std::map<std::string, int64_t> sizes; // of axes
};

std::string drawDivisions(const plan::Manifest &manifest) {
  std::string text = "<h2>How tensors are divided</h2>\n<p>A color for each "
                     "part: ranks that have the same color have the same part. "
                     "Inputs, then the largest parameters.</p>\n";
  const Tensors tensors(manifest);
  for (int i = 0; i < manifest.roles_size(); ++i)
    text += (manifest.roles_size() > 1 ? strCat("<h3>Role ", i, "</h3>\n")
                                       : std::string()) +
            tensors.draw(manifest.roles(i));
  return text;
}

std::string rowsOfTraffic(const std::map<std::string, CommTraffic> &traffic,
                          const char *of) {
  std::string text;
  for (const auto &[name, each] : traffic)
    text +=
        strCat("<tr><td>", of, escape(name), "</td><td class=\"n\">",
               each.count, "</td><td class=\"n\">", each.steps,
               "</td><td class=\"n\">", printSize(each.bytes), "</td></tr>\n");
  return text;
}

std::string tableOfTraffic(const plan::Manifest &manifest) {
  const CommReport report = measureComm(manifest);
  std::string text = "<h2>Communication of a step</h2>\n<p>" +
                     printSize(report.sentBytes) +
                     " by the rank that sends most";
  if (report.parameterBytes > 0)
    text += ", " +
            number(double(report.sentBytes) / double(report.parameterBytes)) +
            " times the parameters";
  return text +
         ".</p>\n<table><tr><th>traffic</th><th>exchanges</th>"
         "<th>rounds of messages</th><th>bytes a rank sends</th></tr>\n" +
         rowsOfTraffic(report.byKind, "") +
         rowsOfTraffic(report.byAxis, "along ") + "</table>\n";
}

/// One work in a line of a timeline: "F0b....".
struct Work {
  std::string name;
  size_t begin, end;                                  // columns
  bool isSecond() const { return name.back() > 'a'; } // of a second stage
};

std::vector<Work> worksOf(const std::string &line) {
  std::vector<Work> works;
  for (size_t i = 0; i < line.size();) {
    const size_t begin = i;
    if (!std::isupper(static_cast<unsigned char>(line[i]))) {
      ++i;
      continue;
    }
    for (++i; i < line.size() &&
              std::isalnum(static_cast<unsigned char>(line[i])) &&
              !std::isupper(static_cast<unsigned char>(line[i]));)
      ++i;
    std::string name = line.substr(begin, i - begin);
    while (i < line.size() && line[i] == '.')
      ++i;
    works.push_back({std::move(name), begin, i});
  }
  return works;
}

const char *colorOf(const Work &work) {
  const bool isSecond = work.isSecond();
  switch (work.name[0]) {
  case 'F':
    return isSecond ? "#a8bcdb" : "#4c72b0";
  case 'B':
    return isSecond ? "#a9d3b3" : "#55a868";
  default:
    return isSecond ? "#e5d294" : "#c9a227";
  }
}

std::string drawTimeline(const std::vector<std::string> &timeline) {
  constexpr int kRow = 26;
  size_t columns = 1;
  for (const std::string &line : timeline)
    columns = std::max(columns, line.size());
  const double unit = double(kWidth) / double(columns);
  std::string text = openSvg(int(timeline.size()) * kRow - 24);
  for (size_t row = 0; row < timeline.size(); ++row) {
    const double y = double(row) * kRow;
    text += word(-6, y + 16, "end", strCat("role ", row));
    for (const Work &work : worksOf(timeline[row]))
      text += rectangle(double(work.begin) * unit, y,
                        double(work.end - work.begin) * unit - 1, kRow - 3,
                        colorOf(work), work.name) +
              word(double(work.begin + work.end) / 2 * unit, y + 16, "middle",
                   work.name.substr(1));
  }
  return text + "</svg>\n";
}

std::string drawPipeline(const PipelineReport &report) {
  return "<h2>Order of a step: " + escape(report.order) + "</h2>\n" +
         drawTimeline(report.timeline) +
         "<p>Forwards are blue, backwards green, gradients of parameters that "
         "come by themselves yellow; a second stage is lighter; numbers are of "
         "micro-batches. Bubble: " +
         number(100 * report.bubbleOfTotal) + " % of the time, " +
         number(100 * report.bubbleOfIdeal) +
         " % of the ideal one; were stages equal, " +
         number(100 * report.equalBubbleOfTotal) + " % and " +
         number(100 * report.equalBubbleOfIdeal) +
         " %. The largest role takes " + number(report.imbalance) +
         " times the mean time.</p>\n";
}

} // namespace

std::string drawRanks(const plan::Manifest &manifest) {
  if (manifest.mesh().empty())
    return "";
  std::string text = tableOfCopies(manifest) + drawDivisions(manifest) +
                     tableOfTraffic(manifest);
  if (std::optional<PipelineReport> report = measurePipeline(manifest))
    text += drawPipeline(*report);
  return text;
}

} // namespace zc::html
