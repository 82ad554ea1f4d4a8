#include "compiler/Plan/StateTable.h"
#include "compiler/Export/Inspect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <nlohmann/json.hpp>

using llvm::formatv;

namespace zc {

using Json = nlohmann::ordered_json;

static constexpr double kWeight = 2, kGradient = 2, kOptimizer = 12;
static constexpr int kStages[] = {0, 1, 2, 3};

double stateBytes(int zero, int64_t ranks) {
  const double n = double(ranks);
  return kWeight / (zero >= 3 ? n : 1) + kGradient / (zero >= 2 ? n : 1) +
         kOptimizer / (zero >= 1 ? n : 1);
}

double largestModel(double memory, int zero, int64_t ranks) {
  return memory / stateBytes(zero, ranks);
}

int64_t fewestRanks(double parameters, double memory, int zero) {
  const double whole = zero == 0   ? kWeight + kGradient + kOptimizer
                       : zero == 1 ? kWeight + kGradient
                       : zero == 2 ? kWeight
                                   : 0;
  const double room = memory / parameters - whole;
  if (room <= 0)
    return 0;
  const double divided = kWeight + kGradient + kOptimizer - whole;
  return std::max<int64_t>(1, int64_t(std::ceil(divided / room - 1e-9)));
}

/// Whether `zc compile` makes the row's program.
static bool isCompiled(const StateRow &row) {
  return row.trainingMemory > 0 && row.failure.empty();
}

std::string printStateTable(const std::vector<StateRow> &rows,
                            const std::string &missingOptions) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "ZeRO   nodes   ranks   batch   parameters   initial memory   training "
        "memory   states by formula\n";
  auto size = [](double bytes) {
    return bytes > 0 ? printSize(uint64_t(bytes)) : std::string("-");
  };
  for (const StateRow &row : rows) {
    os << formatv("{0,4} {1,7} {2,7} {3,7} {4,12:F0}   {5,14}   {6,15}   "
                  "{7,17}\n",
                  row.zero, row.nodes, row.ranks, row.batch, row.parameters,
                  size(row.initialMemory), size(row.trainingMemory),
                  formatv("{0:F3} GB", row.states / 1e9).str());
    if (!row.failure.empty())
      os << "       " << row.failure << "\n";
  }
  if (!missingOptions.empty() && llvm::any_of(rows, isCompiled))
    os << formatv("(zc compile makes a row with these options, its --zero and "
                  "{0})\n",
                  missingOptions);
  return os.str();
}

std::string stateTableAsJson(const std::vector<StateRow> &rows,
                             const std::string &missingOptions) {
  Json table = Json::array();
  for (const StateRow &row : rows) {
    Json json = {{"zero", row.zero},
                 {"nodes", row.nodes},
                 {"ranks", row.ranks},
                 {"batch", row.batch},
                 {"parameters", row.parameters},
                 {"state_bytes", row.states}};
    if (row.trainingMemory > 0) {
      json["initial_memory"] = row.initialMemory;
      json["training_memory"] = row.trainingMemory;
    }
    if (isCompiled(row))
      json["compile_options"] = "--zero " + std::to_string(row.zero) +
                                (missingOptions.empty() ? "" : " ") +
                                missingOptions;
    if (!row.failure.empty())
      json["failure"] = row.failure;
    table.push_back(json);
  }
  return Json{{"table", table}}.dump(2);
}

std::string printMaxModel(const Cluster &cluster, int64_t ranks,
                          double parameters) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const double memory = double(cluster.device.memoryBytes);
  os << formatv("states of 16 bits with Adam in float32, on {0} x {1} of "
                "{2:F1} GB\n\nZeRO   bytes a parameter   largest model{3}\n",
                ranks, cluster.device.name, memory / 1e9,
                parameters > 0 ? "   ranks for the parameters" : "");
  for (int zero : kStages) {
    os << formatv("{0,4}   {1,17:F5}   {2,11:F2} B", zero,
                  stateBytes(zero, ranks),
                  largestModel(memory, zero, ranks) / 1e9);
    if (parameters > 0) {
      const int64_t needed = fewestRanks(parameters, memory, zero);
      os << formatv("   {0,24}",
                    needed > 0 ? std::to_string(needed) : std::string("never"));
    }
    os << '\n';
  }
  return os.str();
}

std::string maxModelAsJson(const Cluster &cluster, int64_t ranks,
                           double parameters) {
  const double memory = double(cluster.device.memoryBytes);
  Json rows = Json::array();
  for (int zero : kStages) {
    Json row = {{"zero", zero},
                {"bytes_per_parameter", stateBytes(zero, ranks)},
                {"parameters", largestModel(memory, zero, ranks)}};
    if (parameters > 0)
      row["ranks_needed"] = fewestRanks(parameters, memory, zero);
    rows.push_back(row);
  }
  return Json{{"max_model",
               {{"ranks", ranks}, {"memory_bytes", memory}, {"rows", rows}}}}
      .dump(2);
}

static constexpr double kHoursOfYear = 365 * 24;

std::string printIdealTime(double deviceHours, int64_t ranks) {
  const double hours = deviceHours / double(ranks);
  const auto [amount, unit] = hours < 1    ? std::pair(hours * 60, "minutes")
                              : hours < 48 ? std::pair(hours, "hours")
                              : hours < kHoursOfYear
                                  ? std::pair(hours / 24, "days")
                                  : std::pair(hours / kHoursOfYear, "years");
  return formatv("{0:F2} {1} on {2} ranks that lose no time\n", amount, unit,
                 ranks)
      .str();
}

std::string idealTimeAsJson(double deviceHours, int64_t ranks) {
  const double hours = deviceHours / double(ranks);
  return Json{{"ideal",
               {{"device_hours", deviceHours},
                {"ranks", ranks},
                {"seconds", hours * 3600},
                {"years", hours / kHoursOfYear}}}}
      .dump(2);
}

} // namespace zc
