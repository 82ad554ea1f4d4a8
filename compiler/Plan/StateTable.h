//===- StateTable.h - what models and steps take of memory ------*- C++ -*-===//
#ifndef ZC_COMPILER_PLAN_STATETABLE_H
#define ZC_COMPILER_PLAN_STATETABLE_H

#include "runtime/Simulate/Cluster.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

/// Bytes of a parameter's states on each of `ranks` ranks: 2 of the weight and
/// 2 of its gradient in 16 bits, 12 of Adam in float32 (weight and two
/// moments). ZeRO 1 divides Adam's, 2 the gradient too, 3 all (Rajbhandari et
/// al. 2020, figure 1: for 7.5 B parameters on 64 ranks 120, 31.4, 16.6 and 1.9
/// GB).
double stateBytes(int zero, int64_t ranks);

/// The most parameters whose states fit into `memory` bytes of each rank.
double largestModel(double memory, int zero, int64_t ranks);

/// The fewest ranks that hold the states; 0: no number of them does.
int64_t fewestRanks(double parameters, double memory, int zero);

/// A row of the table of `zc plan --table`.
struct StateRow {
  int zero = 0;
  int64_t nodes = 1, ranks = 1, batch = 0;
  double parameters = 0;
  double states = 0; // by stateBytes(), of all parameters
  /// Bytes of the largest role: after a run has begun, and at a step's peak. 0:
  /// no model is compiled.
  double initialMemory = 0, trainingMemory = 0;
  std::string failure; // why it does not compile
};

/// `missingOptions`: those with which `zc compile` makes a row's program,
/// besides the given ones and its `--zero`: "--cluster h100-dgx".
std::string printStateTable(const std::vector<StateRow> &rows,
                            const std::string &missingOptions = "");
std::string stateTableAsJson(const std::vector<StateRow> &rows,
                             const std::string &missingOptions = "");

/// The largest model for each stage on a cluster's devices; with `parameters`,
/// also how many ranks those need.
std::string printMaxModel(const Cluster &cluster, int64_t ranks,
                          double parameters);
std::string maxModelAsJson(const Cluster &cluster, int64_t ranks,
                           double parameters);

/// How long work of so many hours of one device takes, divided among `ranks`
/// without any loss; a year has 365 days.
std::string printIdealTime(double deviceHours, int64_t ranks);
std::string idealTimeAsJson(double deviceHours, int64_t ranks);

} // namespace zc

#endif // ZC_COMPILER_PLAN_STATETABLE_H
