#include "compiler/Plan/SearchReport.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using llvm::formatv;

namespace zc {

using Json = nlohmann::ordered_json;

std::vector<const TriedLayout *> SearchReport::ranking() const {
  std::vector<const TriedLayout *> list;
  for (const TriedLayout &each : tried)
    if (each.failure.empty() && each.fits)
      list.push_back(&each);
  std::stable_sort(list.begin(), list.end(),
                   [](const TriedLayout *a, const TriedLayout *b) {
                     return a->seconds < b->seconds;
                   });
  return list;
}

std::vector<const TriedLayout *> SearchReport::pareto() const {
  std::vector<const TriedLayout *> front;
  for (const TriedLayout *each : ranking())
    if (front.empty() || each->bytes < front.back()->bytes)
      front.push_back(each);
  return front;
}

void takeReport(const plan::Manifest &manifest, const Cluster &cluster,
                const PlanReport &report, TriedLayout &tried) {
  const MemoryReport &memory = report.roles[size_t(report.largestRole)].memory;
  tried.seconds = report.stepSeconds;
  tried.bytes = double(memory.peak);
  tried.fits = report.fits();
  tried.fitsDevice = report.fitsDevice;
  tried.hostBytes = double(report.host.nodeBytes);
  tried.bubble = report.bubbleOfTotal;
  tried.hfu = report.hfu;
  tried.mfu = report.mfu;
  for (const auto &[kind, seconds] : report.computed)
    tried.parts["compute"] += seconds;
  double accounted = tried.parts["compute"];
  for (const auto &[axes, seconds] : report.exposed) {
    tried.parts[axes] = seconds;
    accounted += seconds;
  }
  tried.parts["waiting for other stages"] =
      std::max(0.0, report.stepSeconds - accounted);
  tried.memory = {{"parameters", double(memory.atPeak[plan::PARAMETERS])},
                  {"gradients", double(memory.atPeak[plan::GRADIENTS])},
                  {"optimizer", double(memory.atPeak[plan::OPTIMIZER_STATE])},
                  {"activations", double(memory.atPeak[plan::ACTIVATIONS])},
                  {"communication", double(memory.atPeak[plan::COMMUNICATION])},
                  {"workspace", double(memory.atPeak[plan::WORKSPACE])}};
  tried.limits = findLimits(manifest, cluster, report);
}

std::string triedAsText(const TriedLayout &tried) {
  return Json{{"failure", tried.failure},
              {"seconds", tried.seconds},
              {"bytes", tried.bytes},
              {"fits", tried.fits},
              {"fits device", tried.fitsDevice},
              {"host", tried.hostBytes},
              {"bubble", tried.bubble},
              {"hfu", tried.hfu},
              {"mfu", tried.mfu},
              {"parts", tried.parts},
              {"memory", tried.memory},
              {"limits", tried.limits}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool triedFromText(const std::string &text, TriedLayout &tried) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object())
    return false;
  tried.failure = json.value("failure", "");
  tried.seconds = json.value("seconds", 0.0);
  tried.bytes = json.value("bytes", 0.0);
  tried.fits = json.value("fits", true);
  tried.fitsDevice = json.value("fits device", true);
  tried.hostBytes = json.value("host", 0.0);
  tried.bubble = json.value("bubble", 0.0);
  tried.hfu = json.value("hfu", 0.0);
  tried.mfu = json.value("mfu", 0.0);
  tried.parts = json.value("parts", tried.parts);
  tried.memory = json.value("memory", tried.memory);
  tried.limits = json.value("limits", tried.limits);
  return true;
}

static std::pair<std::string, double>
mostMore(const std::map<std::string, double> &of,
         const std::map<std::string, double> &than) {
  std::pair<std::string, double> most{"", 0};
  for (const auto &[name, amount] : of) {
    auto known = than.find(name);
    const double more = amount - (known == than.end() ? 0 : known->second);
    if (more > most.second)
      most = {name, more};
  }
  return most;
}

static std::string describe(const std::string &part) {
  if (part == "offload")
    return "copies to and from the second memory";
  return part == "compute" || part == "waiting for other stages"
             ? part
             : "exposed communication over " + part;
}

std::string explainLoss(const TriedLayout &winner, const TriedLayout &loser) {
  const double slower = loser.seconds / winner.seconds - 1;
  const auto [part, more] = mostMore(loser.parts, winner.parts);
  if (slower < 1e-6 || part.empty())
    return "as quick; it needs " +
           printSize(uint64_t(std::abs(loser.bytes - winner.bytes))) +
           (loser.bytes > winner.bytes ? " more" : " less");
  return formatv("{0:F1} % slower: {1:F2} ms more of {2}", slower * 100,
                 more * 1e3, describe(part));
}

namespace {

/// The class of most bytes at the peak; empty where nothing is known.
std::string findFullest(const TriedLayout &tried) {
  const auto most = std::max_element(
      tried.memory.begin(), tried.memory.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == tried.memory.end() ? "" : most->first;
}

/// "the largest part of the memory is activations in 12 of those that do not
/// fit into a device, optimizer in 3".
std::string countFullest(const SearchReport &report) {
  std::map<std::string, size_t> counts;
  for (const TriedLayout &each : report.tried)
    if (each.failure.empty() && !each.fitsDevice)
      ++counts[findFullest(each)];
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto &[name, count] : counts)
    sorted.push_back({count, name});
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string text;
  for (const auto &[count, name] : sorted)
    text +=
        formatv("{0}{1} in {2}{3}",
                text.empty() ? "the largest part of the memory is " : ", ",
                name, count,
                text.empty() ? " of those that do not fit into a device" : "")
            .str();
  return text;
}

/// Explains why no layout fits, and what would help.
std::string explainNoFit(const SearchReport &report, const Cluster &cluster) {
  const TriedLayout *least = nullptr;
  size_t compiled = 0;
  for (const TriedLayout &each : report.tried) {
    compiled += each.failure.empty();
    if (each.failure.empty() && (!least || each.bytes < least->bytes))
      least = &each;
  }
  if (!least)
    return "no layout compiles" +
           (report.tried.empty()
                ? std::string(": there is none for this batch "
                              "and number of ranks")
                : "; the first says: " + report.tried.front().failure) +
           "\n";
  const std::string need =
      least->fitsDevice
          ? "the one that needs least fits into a device, but not into a host, "
            "which needs " +
                printSize(uint64_t(least->hostBytes))
          : "the least that a device needs is " +
                printSize(uint64_t(least->bytes)) + ", and it has " +
                printSize(cluster.device.memoryBytes);
  std::string text = formatv("none of {0} layouts fits: {1} ({2})\n", compiled,
                             need, least->layout.options())
                         .str();
  if (const std::string counts = countFullest(report); !counts.empty())
    text += counts + "\n";
  text += "the limits of that one, and what would help:\n";
  for (const std::string &limit : least->limits)
    text += "  " + limit + "\n";
  return text;
}

void printRow(llvm::raw_ostream &os, const TriedLayout &each) {
  os << formatv("{0,10:F3} {1,11} {2,7:F1} {3,8:F1}   {4}\n",
                each.seconds * 1e3, printSize(uint64_t(each.bytes)),
                each.mfu * 100, each.bubble * 100, each.layout.options());
}

Json asJson(const TriedLayout &each) {
  Json json = {{"options", each.layout.options()},
               {"mesh", each.layout.mesh()},
               {"zero", each.layout.zero},
               {"accumulate", each.layout.accumulate},
               {"schedule", each.layout.pp > 1 ? each.layout.schedule : ""},
               {"recompute", each.layout.recompute},
               {"offload", each.layout.offload}};
  if (!each.failure.empty()) {
    json["failure"] = each.failure;
    return json;
  }
  json["step_s"] = each.seconds;
  json["memory"] = each.bytes;
  json["host_memory_of_node"] = each.hostBytes;
  json["fits"] = each.fits;
  json["mfu"] = each.mfu;
  json["hfu"] = each.hfu;
  json["bubble_of_total"] = each.bubble;
  json["composed_step_s"] = each.estimate.seconds;
  json["composed_memory"] = each.estimate.bytes;
  json["parts_s"] = each.parts;
  json["limits"] = each.limits;
  return json;
}

/// Compares the quickest layout with the quickest that offloads, if it does
/// not, or that does not offload, if it does; empty where none was tried, of
/// which nothing is known.
std::string compareOffloading(const SearchReport &report) {
  const std::vector<const TriedLayout *> ranking = report.ranking();
  const bool offloads = ranking.front()->layout.offload != "none";
  for (const TriedLayout *each : ranking)
    if ((each->layout.offload != "none") != offloads)
      return formatv("the best that {0} ({1}) is {2}",
                     offloads ? "offloads nothing" : "offloads",
                     each->layout.options(),
                     explainLoss(*ranking.front(), *each));
  const auto tried = std::count_if(
      report.tried.begin(), report.tried.end(), [](const TriedLayout &each) {
        return each.failure.empty() && each.layout.offload == "none";
      });
  if (!offloads || tried == 0)
    return "";
  return formatv("of {0} layouts that were tried and offload nothing, none "
                 "fits",
                 tried);
}

std::string joinOptions(const std::string &left, const std::string &right) {
  return left + (left.empty() || right.empty() ? "" : " ") + right;
}

} // namespace

std::string printSearch(const SearchReport &report, const Cluster &cluster) {
  std::string text;
  llvm::raw_string_ostream os(text);
  size_t failed = 0;
  for (const TriedLayout &each : report.tried)
    failed += !each.failure.empty();
  os << formatv("{0} layouts estimated, {1} compiled and simulated{2} in "
                "{3:F1} s; {4} of them do not compile\n",
                report.composed, report.tried.size(),
                report.isComplete ? " (all)" : "", report.seconds, failed);
  const auto ranking = report.ranking();
  if (ranking.empty()) {
    os << explainNoFit(report, cluster);
    return os.str();
  }
  constexpr size_t kShown = 10;
  os << "\n   step ms      memory   MFU %  bubble %   options\n";
  for (size_t i = 0; i < std::min(kShown, ranking.size()); ++i)
    printRow(os, *ranking[i]);
  if (ranking.size() > 1)
    os << formatv("\nthe second is {0}\n",
                  explainLoss(*ranking[0], *ranking[1]));
  if (std::string text = compareOffloading(report); !text.empty())
    os << text << "\n";
  os << "\nleast memory for each time:\n";
  for (const TriedLayout *each : report.pareto())
    printRow(os, *each);
  const TriedLayout &best = *ranking.front();
  os << formatv("\nbest: {0}\n", best.layout.options());
  if (!report.missingOptions.empty())
    os << formatv("(zc compile makes it with these options, those given that "
                  "these do not name, and {0})\n",
                  report.missingOptions);
  os << formatv("(its estimate was {0:F3} ms and {1})\n",
                best.estimate.seconds * 1e3,
                printSize(uint64_t(best.estimate.bytes)));
  return os.str();
}

std::string searchAsJson(const SearchReport &report, const Cluster &cluster) {
  Json search = {{"cluster", cluster.name},
                 {"composed", report.composed},
                 {"exact", report.tried.size()},
                 {"complete", report.isComplete},
                 {"seconds", report.seconds}};
  const auto ranking = report.ranking();
  if (ranking.empty()) {
    search["winner"] = nullptr;
    search["reason"] = explainNoFit(report, cluster);
  } else {
    search["winner"] = asJson(*ranking.front());
    search["compile_options"] =
        joinOptions(ranking.front()->layout.arguments(), report.missingOptions);
    if (ranking.size() > 1)
      search["reason"] =
          "the second is " + explainLoss(*ranking[0], *ranking[1]);
    search["offloading"] = compareOffloading(report);
  }
  search["pareto"] = Json::array();
  for (const TriedLayout *each : report.pareto())
    search["pareto"].push_back(asJson(*each));
  search["layouts"] = Json::array();
  for (const TriedLayout &each : report.tried)
    search["layouts"].push_back(asJson(each));
  return Json{{"search", search}}.dump(2);
}

} // namespace zc
