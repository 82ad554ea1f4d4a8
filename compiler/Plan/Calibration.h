//===- Calibration.h - a cluster file out of runs here ----------*- C++ -*-===//
//
// Describes this machine from traces of runs and timed messages, for `zc plan
// --cluster here`.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_PLAN_CALIBRATION_H
#define ZC_COMPILER_PLAN_CALIBRATION_H

#include "runtime/Simulate/Cluster.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <vector>

namespace zc {

class Calibration {
public:
  struct Machine {
    std::string name; // of its processor
    int64_t cores = 1;
    uint64_t memoryBytes = 0;
    std::vector<std::string> sources; // for people: when, how loaded
  };
  explicit Calibration(Machine machine) : machine(std::move(machine)) {}

  /// A run's trace, as `zc run --trace` writes it, without its first steps. The
  /// quickest quarter of the steps counts, in these the median of each
  /// instruction, and, in several runs of as many ranks, the lower quartile of
  /// equal instructions, for other programs may have disturbed the rest.
  Status addRun(const plan::Manifest &manifest, const std::string &trace);

  /// The output of `zc-run links`.
  Status addLinks(const std::string &json);

  /// The cluster's JSON. Fails where nothing was measured.
  Result<std::string> finish();

  /// How far the simulated steps of the runs are from the measured ones, for
  /// people: "dp=2: 12.3 ms, simulated 12.0 ms". Behind finish().
  std::string printRuns() const;

private:
  using Product = std::tuple<int64_t, int64_t, int64_t, int64_t, bool, bool,
                             plan::DataType>;
  // Kind, operators, form, FLOPs, bytes.
  using Alike = std::tuple<std::string, std::string, std::vector<int64_t>,
                           double, double>;
  /// Measurements of runs with one number of ranks.
  struct Share {
    std::map<Alike, std::vector<double>> instructions; // s
    std::map<Product, std::vector<double>> products;   // s
    std::vector<double> launch, call, step; // the host's seconds, by runs
  };
  struct Run {
    plan::Manifest manifest;
    int64_t ranks;
    double seconds; // of a step
    double simulated = 0;
  };
  struct Message {
    double bytes, seconds;
  };

  static void addInstruction(Share &share, const plan::Program &program,
                             const plan::Instruction &instruction,
                             double seconds);
  void fitLinks();
  Result<double> fitComputeWhileSending();
  nlohmann::json printCollectives() const;
  std::string print(double computeWhileSending) const;

  const Machine machine;
  std::map<int64_t, Share> shares; // by ranks
  std::vector<Run> runs;
  std::vector<Message> messages;
  std::vector<MeasuredCollective> collectives;
  int64_t linkedRanks = 1;
  double latencySeconds = 0, secondsPerByte = 0;
};

} // namespace zc

#endif // ZC_COMPILER_PLAN_CALIBRATION_H
