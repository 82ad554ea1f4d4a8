//===- ScaleTable.h - one model on more and more ranks ----------*- C++ -*-===//
//
// `zc plan --scale`: nodes, ranks, time and speed-up, as papers print them.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_PLAN_SCALETABLE_H
#define ZC_COMPILER_PLAN_SCALETABLE_H

#include "compiler/Plan/PlanReport.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

/// The plan with one size of the axis.
struct ScaleRow {
  int64_t size = 1; // of the axis
  int64_t nodes = 1, ranks = 1, batch = 0;
  double stepSeconds = 0;
  double samplesPerSecond = 0; // 0: no input counts samples
  double tokensPerSecond = 0;  // labels a second; 0: there are none
  double peak = 0;             // bytes of the largest role
  bool fits = true;
  std::string failure; // why there is no plan
};

struct ScaleTable {
  std::string model, cluster, axis;
  double tokens = 0; // that are to be trained on; 0: not asked
  std::vector<ScaleRow> rows;
  /// The options with which `zc compile` makes a row's program, besides the
  /// given ones and its mesh: "--cluster h100-dgx".
  std::string missingOptions;
};

/// A row's figures from its plan.
void takeReport(const PlanReport &report, int64_t batch, ScaleRow &row);

/// By row, how many times the samples (steps, where nothing counts samples) a
/// second of the first row that has a plan; 0: it has none.
std::vector<double> speedUps(const ScaleTable &table);

/// The share of ideal speed-up, by the number of ranks; 0: there is no plan.
std::vector<double> efficiencies(const ScaleTable &table);

std::string printScaleTable(const ScaleTable &table);

/// {"scaling": {"axis", "rows": [...]}}, sizes in bytes, seconds.
std::string scaleTableAsJson(const ScaleTable &table);

/// The table as a page that needs no other file, with speed-ups over ranks
/// beside the ideal ones.
std::string scaleTableAsHtml(const ScaleTable &table);

} // namespace zc

#endif // ZC_COMPILER_PLAN_SCALETABLE_H
