#include "compiler/Plan/CollectiveTable.h"
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/Collective/Schedule.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

using llvm::formatv;

namespace zc {

using Json = nlohmann::ordered_json;

static constexpr plan::CollectiveAlgorithm kAlgorithms[] = {
    plan::PARAMETER_SERVER, plan::SEQUENTIAL,         plan::RING,
    plan::PARALLEL,         plan::RECURSIVE_DOUBLING, plan::RABENSEIFNER};
static constexpr int64_t kRanks[] = {2, 4, 8, 16, 32, 64};
static constexpr int64_t kShownBytes = 100 << 20;
/// Sizes that crossovers are looked for in, each twice the one before.
static constexpr int64_t kSmallest = 1 << 10, kLargest = 1 << 30;

static const char *nameOf(plan::CollectiveAlgorithm algorithm) {
  switch (algorithm) {
  case plan::PARAMETER_SERVER:
    return "parameter server";
  case plan::SEQUENTIAL:
    return "sequential";
  case plan::PARALLEL:
    return "parallel";
  case plan::RECURSIVE_DOUBLING:
    return "recursive doubling";
  case plan::RABENSEIFNER:
    return "Rabenseifner";
  default:
    return "ring";
  }
}

CollectiveRow countCollective(const Cluster &cluster,
                              plan::CollectiveAlgorithm algorithm,
                              int64_t ranks, int64_t bytes) {
  CollectiveShape shape;
  shape.algorithm = algorithm;
  shape.ranks = ranks;
  shape.elementBytes = 4;
  shape.elements = std::max<int64_t>(ranks, bytes / 4);
  CollectiveRow row;
  row.algorithm = algorithm;
  row.ranks = ranks;
  row.bytes = 4 * shape.elements;
  std::vector<Schedule> schedules;
  for (int64_t rank = 0; rank < ranks; ++rank)
    schedules.push_back(scheduleOf(shape, rank));
  row.rounds = int64_t(schedules.front().rounds.size());
  std::vector<double> sent(size_t(ranks), 0), received(size_t(ranks), 0);
  for (size_t round = 0; round < size_t(row.rounds); ++round) {
    double longest = 0;
    for (size_t rank = 0; rank < size_t(ranks); ++rank) {
      double out = 0, in = 0, link = 0, latency = 0;
      for (const Message &message : schedules[rank].rounds[round].messages) {
        const double size = 4 * double(message.span.count);
        (message.isSend ? out : in) += size;
        const TransferCost cost =
            messageCost(cluster, int(rank), int(message.peer), size);
        latency = std::max(latency, cost.latencySeconds);
        link = std::max(link, cost.seconds(cluster) - cost.latencySeconds);
      }
      // A rank's messages of a round share its link.
      const double most = std::max(out, in);
      double largest = 0;
      for (const Message &message : schedules[rank].rounds[round].messages)
        largest = std::max(largest, 4 * double(message.span.count));
      if (largest > 0)
        longest = std::max(longest, latency + link * most / largest);
      sent[rank] += out;
      received[rank] += in;
    }
    row.seconds += longest;
  }
  for (size_t rank = 0; rank < size_t(ranks); ++rank) {
    row.totalBytes += sent[rank];
    row.peakBytes = std::max({row.peakBytes, sent[rank], received[rank]});
  }
  return row;
}

/// The sizes at which an answer changes, to four bytes: of sizes each twice the
/// one before, those between which it does are searched. `change` is told the
/// first size with the new answer.
template <typename Answer, typename AnswerOf, typename Change>
static void findChanges(AnswerOf answerOf, Change change) {
  Answer before = answerOf(kSmallest);
  int64_t low = kSmallest;
  for (int64_t high = 2 * kSmallest; high <= kLargest;) {
    if (answerOf(high) == before) {
      low = high;
      high *= 2;
      continue;
    }
    // Between two sizes there may be a third answer: on from the first change.
    int64_t other = high;
    while (other - low > 4) {
      const int64_t middle = low + (other - low) / 8 * 4;
      (answerOf(middle) == before ? low : other) = middle;
    }
    const Answer after = answerOf(other);
    change(other, before, after);
    before = after;
    low = other;
  }
}

std::vector<Crossover> findCrossovers(const Cluster &cluster, int64_t ranks) {
  std::vector<Crossover> found;
  findChanges<plan::CollectiveAlgorithm>(
      [&](int64_t bytes) {
        CollectiveRow best;
        for (plan::CollectiveAlgorithm algorithm : kAlgorithms) {
          const CollectiveRow row =
              countCollective(cluster, algorithm, ranks, bytes);
          if (algorithm == kAlgorithms[0] || row.seconds < best.seconds)
            best = row;
        }
        return best.algorithm;
      },
      [&](int64_t bytes, auto before, auto after) {
        found.push_back({ranks, bytes, before, after});
      });
  return found;
}

std::vector<AutoChoice> findAutoChoices(const Cluster &cluster, int64_t ranks) {
  std::vector<int> devices(static_cast<size_t>(ranks));
  std::iota(devices.begin(), devices.end(), 0);
  const GroupPlace place = placeOf(cluster, devices);
  auto methodOf = [&](int64_t bytes) {
    return methodOnCluster(cluster, plan::ALL_REDUCE, place, double(bytes));
  };
  std::vector<AutoChoice> choices = {{ranks, 0, methodOf(kSmallest)}};
  findChanges<CollectiveMethod>(
      methodOf, [&](int64_t bytes, const auto &, const auto &after) {
        choices.push_back({ranks, bytes, after});
      });
  return choices;
}

std::vector<Growth> measureGrowth(const Cluster &cluster) {
  std::vector<Growth> list;
  for (plan::CollectiveAlgorithm algorithm : kAlgorithms) {
    const CollectiveRow half =
        countCollective(cluster, algorithm, 32, kShownBytes);
    const CollectiveRow all =
        countCollective(cluster, algorithm, 64, kShownBytes);
    list.push_back({algorithm,
                    std::log2(double(all.rounds) / double(half.rounds)),
                    std::log2(all.peakBytes / half.peakBytes),
                    std::log2(all.totalBytes / half.totalBytes)});
  }
  return list;
}

static Status checkSize(const Cluster &cluster) {
  return cluster.checkRoom(kRanks[std::size(kRanks) - 1]);
}

std::string printCollectives(const Cluster &cluster) {
  if (Status status = checkSize(cluster); !status.ok())
    return status.message() + ", which the table goes up to\n";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << formatv("all-reduce of {0} on {1}\n\n{2,-20}  ranks  rounds        "
                "time   busiest rank   all ranks\n",
                printSize(kShownBytes), cluster.name, "");
  for (plan::CollectiveAlgorithm algorithm : kAlgorithms)
    for (int64_t ranks : kRanks) {
      const CollectiveRow row =
          countCollective(cluster, algorithm, ranks, kShownBytes);
      os << formatv("{0,-20} {1,6} {2,7} {3,11:F3} ms {4,12} {5,11}\n",
                    nameOf(algorithm), ranks, row.rounds, row.seconds * 1e3,
                    printSize(uint64_t(row.peakBytes)),
                    printSize(uint64_t(row.totalBytes)));
    }
  os << "\ngrows with the ranks to the power of (from 32 to 64)\n";
  for (const Growth &each : measureGrowth(cluster))
    os << formatv("{0,-20} rounds {1,5:F2}   busiest rank {2,5:F2}   all ranks "
                  "{3,5:F2}\n",
                  nameOf(each.algorithm), each.rounds, each.peakBytes,
                  each.totalBytes);
  os << "\nthe quickest changes at\n";
  for (int64_t ranks : kRanks)
    for (const Crossover &each : findCrossovers(cluster, ranks))
      os << formatv("{0,6} ranks, {1,10}: from {2} to {3}\n", ranks,
                    printSize(uint64_t(each.bytes)), nameOf(each.before),
                    nameOf(each.after));
  os << "\nauto takes, of what the cluster's collectives allow\n";
  for (int64_t ranks : kRanks) {
    os << formatv("{0,6} ranks", ranks);
    for (const AutoChoice &each : findAutoChoices(cluster, ranks))
      os << (each.bytes > 0
                 ? ", from " + printSize(uint64_t(each.bytes)) + " on "
                 : ": ")
         << each.method.name();
    os << '\n';
  }
  return os.str();
}

std::string collectivesAsJson(const Cluster &cluster) {
  Json rows = Json::array(), growth = Json::array(), crossovers = Json::array(),
       choices = Json::array();
  if (Status status = checkSize(cluster); !status.ok())
    return Json{{"error", status.message()}}.dump(2);
  for (plan::CollectiveAlgorithm algorithm : kAlgorithms)
    for (int64_t ranks : kRanks) {
      const CollectiveRow row =
          countCollective(cluster, algorithm, ranks, kShownBytes);
      rows.push_back({{"algorithm", nameOf(algorithm)},
                      {"ranks", ranks},
                      {"bytes", row.bytes},
                      {"rounds", row.rounds},
                      {"seconds", row.seconds},
                      {"peak_node_bytes", row.peakBytes},
                      {"total_bytes", row.totalBytes}});
    }
  for (const Growth &each : measureGrowth(cluster))
    growth.push_back({{"algorithm", nameOf(each.algorithm)},
                      {"rounds", each.rounds},
                      {"peak_node_bytes", each.peakBytes},
                      {"total_bytes", each.totalBytes}});
  for (int64_t ranks : kRanks)
    for (const Crossover &each : findCrossovers(cluster, ranks))
      crossovers.push_back({{"ranks", ranks},
                            {"bytes", each.bytes},
                            {"from", nameOf(each.before)},
                            {"to", nameOf(each.after)}});
  for (int64_t ranks : kRanks)
    for (const AutoChoice &each : findAutoChoices(cluster, ranks)) {
      choices.push_back({{"ranks", ranks},
                         {"from_bytes", each.bytes},
                         {"way", nameOf(each.method.way)}});
      if (!each.method.protocol.empty())
        choices.back()["protocol"] = each.method.protocol;
    }
  return Json{{"collectives",
               {{"cluster", cluster.name},
                {"rows", rows},
                {"growth", growth},
                {"crossovers", crossovers},
                {"auto", choices}}}}
      .dump(2);
}

} // namespace zc
