//===- CompareHtml.cpp - several artifacts on one page --------------------===//
#include "compiler/Export/HtmlParts.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

using namespace zc::html;

namespace zc {

/// "h.0" of "h.0.fc.weight"; empty where no part of the name is a number.
static std::string layerOf(const std::string &name) {
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find('.', begin), name.size());
    bool isNumber =
        end > begin &&
        std::all_of(name.begin() + begin, name.begin() + end,
                    [](unsigned char c) { return std::isdigit(c) != 0; });
    if (isNumber)
      return name.substr(0, end);
    begin = end + 1;
  }
  return "";
}

int countLayers(const plan::Manifest &manifest) {
  std::set<std::string> layers;
  auto add = [&](const std::string &name) {
    if (std::string layer = layerOf(name); !layer.empty())
      layers.insert(layer);
  };
  for (const plan::Role &role : manifest.roles())
    for (const plan::State &state : role.states()) {
      if (state.kind() != plan::PARAMETER)
        continue;
      if (state.members().empty())
        add(state.name());
      for (const plan::UnitMember &member : state.members())
        add(member.name());
    }
  return std::max<int>(1, static_cast<int>(layers.size()));
}

//===----------------------------------------------------------------------===//
// Curves
//===----------------------------------------------------------------------===//

PowerFit fitPower(const std::vector<double> &points,
                  const std::vector<double> &values, double exponent) {
  // Each equation divided by its value: (1/v) offset + (x/v) slope = 1.
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    double a = 1 / values[i], b = std::pow(points[i], exponent) / values[i];
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
  }
  PowerFit fit;
  fit.exponent = exponent;
  double determinant = aa * bb - ab * ab;
  if (determinant <= 1e-12 * aa * bb) {
    fit.offset = aa > 0 ? a1 / aa : 0;
  } else {
    fit.offset = (a1 * bb - b1 * ab) / determinant;
    fit.slope = (aa * b1 - ab * a1) / determinant;
  }
  double squares = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    double model = fit.offset + fit.slope * std::pow(points[i], exponent);
    squares += std::pow(model / values[i] - 1, 2);
  }
  fit.error = std::sqrt(squares / std::max<double>(1, points.size()));
  return fit;
}

PowerFit fitPower(const std::vector<double> &points,
                  const std::vector<double> &values) {
  PowerFit best = fitPower(points, values, 1);
  for (int hundredth = 5; hundredth <= 200; ++hundredth)
    if (PowerFit fit = fitPower(points, values, hundredth / 100.0);
        fit.error < best.error)
      best = fit;
  return best;
}

namespace {

struct Row {
  std::string name;
  std::map<std::string, std::string> choices; // all but the model
  int layers = 1;
  MemoryReport report;
  CommReport comm;

  double activations() const {
    return double(report.classes[plan::ACTIVATIONS]) / (1 << 20);
  }
  double peak() const { return double(report.peak) / (1 << 20); }
};

/// Artifacts that differ in their models' layers alone, the fewest first.
struct Series {
  std::string name;
  std::vector<const Row *> rows;

  std::vector<double> layers() const {
    std::vector<double> layers;
    for (const Row *row : rows)
      layers.push_back(row->layers);
    return layers;
  }
};

constexpr const char *kColors[] = {"#4c72b0", "#c44e52", "#55a868",
                                   "#8172b3", "#dd8452", "#937860"};
// More points than a fit has numbers.
constexpr size_t kFewestPoints = 4;

const char *colorOf(size_t series) {
  return kColors[series % std::size(kColors)];
}

/// The common prefix of the names, without a number at its end.
std::string commonName(const std::vector<const Row *> &rows) {
  std::string name = rows.front()->name;
  for (const Row *row : rows) {
    size_t same = 0;
    while (same < std::min(name.size(), row->name.size()) &&
           name[same] == row->name[same])
      ++same;
    name.resize(same);
  }
  while (!name.empty() && (std::isdigit((unsigned char)name.back()) ||
                           std::ispunct((unsigned char)name.back())))
    name.pop_back();
  return name.empty() ? rows.front()->name : name;
}

using Choices = std::map<std::string, std::string>;

Choices listChoices(const plan::Manifest &manifest) {
  Choices choices = {{"mode", manifest.mode()},
                     {"device", manifest.target().device()},
                     {"loss", manifest.loss()},
                     {"optimizer", manifest.optimizer()},
                     {"batch", std::to_string(manifest.batch())},
                     {"accumulate", std::to_string(manifest.accumulate())}};
  for (const auto *all : {&manifest.settings(), &manifest.mesh()})
    for (const plan::Setting &each : *all) {
      std::string &text = choices[each.name()]; // groups repeat
      text += (text.empty() ? "" : ", ") + each.value();
    }
  return choices;
}

/// A row for each choice that is not the same for all; empty without any.
std::string tableOfDifferences(const std::vector<Row> &rows) {
  std::set<std::string> names;
  for (const Row &row : rows)
    for (const auto &[name, value] : row.choices)
      names.insert(name);
  auto valueIn = [](const Row &row, const std::string &name) {
    auto found = row.choices.find(name);
    return found == row.choices.end() ? std::string("-") : found->second;
  };
  std::string lines;
  for (const std::string &name : names) {
    if (std::all_of(rows.begin(), rows.end(), [&](const Row &row) {
          return valueIn(row, name) == valueIn(rows.front(), name);
        }))
      continue;
    lines += "<tr><td>" + escape(name) + "</td>";
    for (const Row &row : rows)
      lines += "<td>" + escape(valueIn(row, name)) + "</td>";
    lines += "</tr>\n";
  }
  if (lines.empty())
    return "";
  std::string text = "<h2>Options that differ</h2>\n<table><tr><th>option</th>";
  for (const Row &row : rows)
    text += "<th>" + escape(row.name) + "</th>";
  return text + "</tr>\n" + lines + "</table>\n";
}

/// Groups rows, in any order, in series of equal choices. Rows with equal
/// choices and layers belong to different series.
std::vector<Series> findSeries(const std::vector<Row> &rows) {
  std::vector<Series> series;
  std::map<std::pair<Choices, int>, size_t> seen;     // choices, layers
  std::map<std::pair<Choices, size_t>, size_t> known; // choices, turn
  for (const Row &row : rows) {
    size_t turn = seen[{row.choices, row.layers}]++;
    auto [found, isNew] = known.try_emplace({row.choices, turn}, series.size());
    if (isNew)
      series.emplace_back();
    series[found->second].rows.push_back(&row);
  }
  for (Series &each : series) {
    std::stable_sort(
        each.rows.begin(), each.rows.end(),
        [](const Row *a, const Row *b) { return a->layers < b->layers; });
    each.name = commonName(each.rows);
  }
  return series;
}

/// A drawing of values by layers, from zero.
class LayerPlot {
public:
  LayerPlot(double mostLayers, double mostValue)
      : mostLayers(mostLayers * 1.05), mostValue(mostValue * 1.1) {
    text = openSvg(int(kBase)) +
           "<path fill=\"none\" stroke=\"#888\" d=\"M0 0V" + number(kBase) +
           "H" + number(kWidth) + "\"/>\n";
    for (const Tick &tick : roundTicks(this->mostValue, 5))
      text += word(-6, y(tick.value) + 4, "end", tick.text + " MiB") +
              "<path fill=\"none\" stroke=\"#ddd\" d=\"M0 " +
              number(y(tick.value)) + "H" + number(kWidth) + "\"/>\n";
  }

  void addCurve(const Series &series, const std::vector<double> &values,
                const char *color) {
    std::vector<double> layers = series.layers();
    std::string points, circles;
    for (size_t i = 0; i < values.size(); ++i) {
      points += place(layers[i], values[i]) + " ";
      circles += "<circle r=\"4\" fill=\"" + std::string(color) + "\" cx=\"" +
                 number(x(layers[i])) + "\" cy=\"" + number(y(values[i])) +
                 "\"><title>" + escape(series.rows[i]->name) + ": " +
                 number(layers[i]) + " layers, " + number(values[i]) +
                 " MiB</title></circle>\n";
      marks.insert(int(layers[i]));
    }
    text += "<polyline fill=\"none\" stroke=\"" + std::string(color) +
            "\" points=\"" + points + "\"/>\n" + circles;
  }

  void addFit(const PowerFit &fit, double fewestLayers, const char *color) {
    std::string points;
    double last = mostLayers / 1.05;
    for (int i = 0; i <= 64; ++i) {
      double at = fewestLayers + (last - fewestLayers) * i / 64;
      double value = fit.offset + fit.slope * std::pow(at, fit.exponent);
      points += place(at, value) + " ";
    }
    text += "<polyline fill=\"none\" stroke-dasharray=\"6 5\" stroke=\"" +
            std::string(color) + "\" points=\"" + points +
            "\"><title>a + b "
            "layers^" +
            number(fit.exponent) + "</title></polyline>\n";
  }

  std::string finish() {
    for (int layers : marks)
      text += word(x(layers), kBase + 16, "middle", std::to_string(layers));
    return text + word(kWidth / 2.0, kBase + 32, "middle", "layers") +
           "</svg>\n";
  }

private:
  static constexpr double kBase = 320;

  double x(double layers) const { return kWidth * layers / mostLayers; }
  double y(double value) const { return kBase * (1 - value / mostValue); }

  std::string place(double layers, double value) const {
    return number(x(layers)) + "," + number(y(value));
  }

  double mostLayers, mostValue;
  std::set<int> marks; // on the axis of layers
  std::string text;
};

std::string percent(double part) { return number(100 * part) + "%"; }

std::string formula(const PowerFit &fit) {
  return number(fit.offset) + " + " + number(fit.slope) + " &middot; layers" +
         (fit.exponent == 1 ? "" : "<sup>" + number(fit.exponent) + "</sup>");
}

/// One quantity by layers: the drawing, and what powers of the layers fit.
std::string drawByLayers(const std::string &what,
                         const std::vector<Series> &series,
                         double (Row::*quantity)() const) {
  double mostLayers = 1, mostValue = 0;
  for (const Series &each : series)
    for (const Row *row : each.rows) {
      mostLayers = std::max<double>(mostLayers, row->layers);
      mostValue = std::max(mostValue, (row->*quantity)());
    }
  LayerPlot plot(mostLayers, std::max(mostValue, 1e-3));
  std::string rows;
  for (size_t i = 0; i < series.size(); ++i) {
    std::vector<double> values, layers = series[i].layers();
    for (const Row *row : series[i].rows)
      values.push_back((row->*quantity)());
    plot.addCurve(series[i], values, colorOf(i));
    bool isPositive = *std::min_element(values.begin(), values.end()) > 0;
    if (values.size() < kFewestPoints || !isPositive)
      continue;
    PowerFit best = fitPower(layers, values);
    plot.addFit(best, layers.front(), colorOf(i));
    rows += "<tr><td>" + escape(series[i].name) + "</td><td>" + formula(best) +
            "</td><td class=\"n\">" + percent(best.error) +
            "</td><td class=\"n\">" +
            percent(fitPower(layers, values, 0.5).error) +
            "</td><td class=\"n\">" +
            percent(fitPower(layers, values, 1).error) + "</td></tr>\n";
  }
  std::string text = "<h2>" + what + " by layers</h2>\n" + plot.finish();
  if (rows.empty())
    return text;
  return text +
         "<table><tr><th></th><th>best fit, MiB</th><th>error</th><th>a + b "
         "&radic;layers</th><th>a + b layers</th></tr>\n" +
         rows +
         "</table>\n<p>Dashed: the best power of the layers. Errors are "
         "relative, the root of their mean square.</p>\n";
}

std::string seriesLegend(const std::vector<Series> &series) {
  std::string text = "<p class=\"legend\">";
  for (size_t i = 0; i < series.size(); ++i)
    text += std::string("<span style=\"background:") + colorOf(i) +
            "\"></span>" + escape(series[i].name) + " ";
  return text + "</p>\n";
}

std::string compareTable(const std::vector<Row> &rows) {
  std::string text = "<table><tr><th>artifact</th><th>layers</th>";
  for (const ClassStyle &style : kClasses)
    text += std::string("<th class=\"n\">") + style.name + "</th>";
  text += "<th class=\"n\">persistent</th><th class=\"n\">peak</th></tr>\n";
  auto cell = [&](uint64_t bytes) {
    text += "<td class=\"n\">" + printSize(bytes) + "</td>";
  };
  for (const Row &row : rows) {
    text += "<tr><td>" + escape(row.name) + "</td><td class=\"n\">" +
            std::to_string(row.layers) + "</td>";
    for (const ClassStyle &style : kClasses)
      cell(row.report.classes[style.memoryClass]);
    cell(row.report.persistentBytes);
    cell(row.report.peak);
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

/// Traffic as the columns of a table have it: by what is sent, by the operation
/// that sends it, and by the axes that it goes along.
struct Division {
  const char *of;
  std::map<std::string, CommTraffic> CommReport::*traffic;
};
constexpr Division kDivisions[] = {{"", &CommReport::byKind},
                                   {"by ", &CommReport::byOperation},
                                   {"along ", &CommReport::byAxis}};

/// A division's number, and a name in it that some artifact sends bytes of.
using Column = std::pair<size_t, std::string>;

std::set<Column> listTraffic(const std::vector<Row> &rows) {
  std::set<Column> columns;
  for (const Row &row : rows)
    for (size_t i = 0; i < std::size(kDivisions); ++i)
      for (const auto &[name, traffic] : row.comm.*kDivisions[i].traffic)
        if (traffic.bytes > 0)
          columns.insert({i, name});
  return columns;
}

std::string trafficCell(const CommReport &comm, const Column &column) {
  const auto &traffic = comm.*kDivisions[column.first].traffic;
  auto found = traffic.find(column.second);
  bool sends = found != traffic.end() && found->second.bytes > 0;
  return "<td class=\"n\">" + (sends ? printSize(found->second.bytes) : "-") +
         "</td>";
}

/// The bytes that a step sends; nothing where all artifacts are of one rank.
std::string compareTraffic(const std::vector<Row> &rows) {
  const std::set<Column> columns = listTraffic(rows);
  if (columns.empty())
    return "";
  std::string text =
      "<h2>Bytes sent in a step</h2>\n<p>By the rank that sends most.</p>\n"
      "<table><tr><th>artifact</th><th class=\"n\">all</th><th "
      "class=\"n\">times the parameters</th>";
  for (const auto &[division, name] : columns)
    text +=
        "<th class=\"n\">" + (kDivisions[division].of + escape(name)) + "</th>";
  text += "</tr>\n";
  for (const Row &row : rows) {
    const CommReport &comm = row.comm;
    text += "<tr><td>" + escape(row.name) + "</td><td class=\"n\">" +
            printSize(comm.sentBytes) + "</td><td class=\"n\">" +
            number(double(comm.sentBytes) /
                   double(std::max<uint64_t>(1, comm.parameterBytes))) +
            "</td>";
    for (const Column &column : columns)
      text += trafficCell(comm, column);
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

} // namespace

std::string compareAsHtml(const std::vector<NamedManifest> &artifacts) {
  std::vector<Row> rows;
  std::set<int> layers;
  for (const auto &[name, manifest] : artifacts) {
    rows.push_back({name, listChoices(manifest), countLayers(manifest),
                    measureMemory(manifest), measureComm(manifest)});
    layers.insert(rows.back().layers);
  }
  std::string text =
      std::string(kHead) + "<title>" + std::to_string(rows.size()) +
      " artifacts</title></head><body>\n<h1>" + std::to_string(rows.size()) +
      " artifacts</h1>\n" + compareTable(rows) + compareTraffic(rows) +
      tableOfDifferences(rows);
  if (layers.size() > 1) {
    std::vector<Series> series = findSeries(rows);
    text += seriesLegend(series) +
            drawByLayers("Activations", series, &Row::activations) +
            drawByLayers("Peak", series, &Row::peak);
  }
  text += "<h2>Transient memory, instruction by instruction</h2>\n<p>All are "
          "drawn to one scale.</p>\n" +
          legend();
  uint64_t scale = 1;
  size_t columns = 1;
  for (const Row &row : rows)
    if (row.report.peakProgram >= 0) {
      const auto &program = row.report.programs[row.report.peakProgram];
      scale = std::max(scale, mostBytes(program));
      columns = std::max(columns, program.timeline.size());
    }
  for (const Row &row : rows) {
    text += "<h3>" + escape(row.name) + "</h3>\n";
    if (row.report.peakProgram >= 0)
      text += drawMemory(row.report.programs[row.report.peakProgram], scale,
                         columns);
  }
  return text + "</body></html>\n";
}

} // namespace zc
