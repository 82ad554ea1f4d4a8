//===- InspectExperts.cpp - layers of experts -----------------------------===//
#include "compiler/Export/InspectSections.h"
#include "runtime/Plan/Axes.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

namespace zc {

/// The setting "moe.layer.N": numbers in this order.
static bool parseLayer(const std::string &text, ExpertLayerReport &layer) {
  std::istringstream numbers(text);
  numbers >> layer.experts >> layer.chosen >> layer.rows >> layer.parameters >>
      layer.flops >> layer.room >> layer.multiplied;
  return !numbers.fail() && layer.experts > 0 && layer.chosen > 0;
}

std::optional<ExpertReport> describeExperts(const plan::Manifest &manifest) {
  ExpertReport report;
  for (const plan::Setting &setting : manifest.settings()) {
    ExpertLayerReport layer;
    if (setting.name() == "moe.parameters")
      report.parameters = std::strtoll(setting.value().c_str(), nullptr, 10);
    else if (setting.name().rfind("moe.layer.", 0) == 0 &&
             parseLayer(setting.value(), layer))
      report.layers.push_back(layer);
  }
  if (report.layers.empty())
    return std::nullopt;
  for (const plan::Setting &axis : manifest.mesh())
    if (axis.name() == axes::kExpert)
      report.ranks =
          std::max(1LL, std::strtoll(axis.value().c_str(), nullptr, 10));
  report.active = double(report.parameters);
  for (const ExpertLayerReport &layer : report.layers)
    report.active -= double(layer.parameters) * (1 - layer.share());
  return report;
}

static std::map<std::string, int64_t> sizesOf(const plan::Manifest &manifest) {
  std::map<std::string, int64_t> sizes;
  for (const plan::Setting &axis : manifest.mesh())
    sizes[axis.name()] = std::strtoll(axis.value().c_str(), nullptr, 10);
  return sizes;
}

OwnershipReport describeOwnership(const plan::Manifest &manifest) {
  OwnershipReport report;
  std::map<std::string, int64_t> sizes = sizesOf(manifest);
  for (const auto &[name, size] : sizes)
    report.ranks *= size;
  for (const plan::Role &role : manifest.roles())
    for (const plan::TensorDivision &division : role.divisions()) {
      int64_t parts = 1;
      bool ofExperts = false;
      for (const plan::DimSharding &dim : division.sharding().dims())
        for (const std::string &axis : dim.axes()) {
          parts *= sizes[axis];
          ofExperts |= axis == axes::kExpert;
        }
      int64_t *most = division.kind() == "input"       ? &report.tokens
                      : division.kind() != "parameter" ? nullptr
                      : ofExperts                      ? &report.experts
                                                       : &report.weights;
      if (most)
        *most = std::max(*most, parts);
    }
  return report;
}

static std::string printOwnership(const plan::Manifest &manifest) {
  OwnershipReport report = describeOwnership(manifest);
  if (report.ranks == 1)
    return "";
  char line[256];
  std::snprintf(line, sizeof(line),
                "  %lld ranks have %lld different parts of experts' weights, "
                "%lld of the others and %lld of the tokens\n",
                static_cast<long long>(report.ranks),
                static_cast<long long>(report.experts),
                static_cast<long long>(report.weights),
                static_cast<long long>(report.tokens));
  return line;
}

static std::string printCount(double count) {
  char text[32];
  const char *unit = count >= 1e9 ? " B" : count >= 1e6 ? " M" : "";
  double number = count >= 1e9   ? count / 1e9
                  : count >= 1e6 ? count / 1e6
                                 : count;
  std::snprintf(text, sizeof(text), *unit ? "%.2f%s" : "%.0f%s", number, unit);
  return text;
}

std::string printExperts(const plan::Manifest &manifest) {
  std::optional<ExpertReport> report = describeExperts(manifest);
  if (!report)
    return "";
  char line[512];
  std::snprintf(line, sizeof(line),
                "\nexperts\n  %s parameters, %s of them active for a token\n",
                printCount(double(report->parameters)).c_str(),
                printCount(report->active).c_str());
  std::string text = line + printOwnership(manifest);
  for (size_t i = 0; i < report->layers.size(); ++i) {
    const ExpertLayerReport &layer = report->layers[i];
    std::snprintf(
        line, sizeof(line),
        "  layer %zu: %lld of %lld experts a token, %lld of them on a rank; "
        "%s of %s FLOPs a forward; room for %.3g times the %lld rows, "
        "%.4g an expert, multiplied %.3g times\n",
        i, static_cast<long long>(layer.chosen),
        static_cast<long long>(layer.experts),
        static_cast<long long>(layer.experts / report->ranks),
        printCount(double(layer.flops)).c_str(),
        printCount(double(layer.flops) / layer.share()).c_str(), layer.room,
        static_cast<long long>(layer.rows), layer.rowsPerExpert(),
        layer.multiplied);
    text += line;
  }
  return text;
}

} // namespace zc
