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
    std::string name;  // of its processor
    int64_t cores = 1; // that a process here may use
    uint64_t memoryBytes = 0;
    std::vector<std::string> sources; // for people: when, how loaded
  };
  explicit Calibration(Machine machine) : machine(std::move(machine)) {}

  /// A run's trace, as `zc run --trace` writes it, without its first steps. The
  /// quickest quarter of the steps counts, and in these the median of each
  /// instruction. In several runs of one manifest, the lower quartile of each
  /// rank's instruction counts, for other programs may have disturbed the rest.
  /// Equal instructions in different places take the mean of theirs.
  Status addRun(const plan::Manifest &manifest, const std::string &trace);

  /// The output of `zc-run links`, for each number of ranks that was timed. In
  /// several of one number, the lower quartile of each time counts.
  Status addLinks(const std::string &json);

  /// The cluster's JSON. Fails where nothing was measured.
  Result<std::string> finish();

  /// How far the simulated steps of the runs are from the measured ones, for
  /// people: "dp=2: 12.3 ms, simulated 12.0 ms". Behind finish().
  std::string printRuns() const;

private:
  using Product = std::tuple<int64_t, int64_t, int64_t, int64_t, bool, bool,
                             plan::DataType>;
  // Kind, operators, form, FLOPs, bytes, the rate that it works at.
  using Alike = std::tuple<std::string, std::string, std::vector<int64_t>,
                           double, double, std::string>;
  /// An instruction of a rank: of which run, rank, program, index.
  using Place = std::tuple<size_t, int, std::string, int>;
  /// Seconds of equal instructions in each round.
  using Rounds = std::map<Place, std::vector<double>>;
  /// Measurements of runs with one number of ranks.
  struct Share {
    std::map<Alike, Rounds> instructions;
    std::map<Product, Rounds> products;
    std::vector<double> launch, call, step; // the host's seconds, by runs
  };
  struct Run {
    plan::Manifest manifest;
    int64_t ranks;
    double seconds; // of a step
    double simulated = 0;
  };

  static void addInstruction(Share &share, const plan::Program &program,
                             const Place &place, double seconds);
  /// The number of the step's run, behind the others if it is new.
  size_t addStep(const plan::Manifest &manifest, int64_t ranks, double seconds);
  static double undisturbed(const Rounds &rounds);
  std::vector<MeasuredCollective> listCollectives() const;
  void fitLinks();
  Result<double> fitComputeWhileSending();
  nlohmann::json printCollectives() const;
  /// `fastest` becomes the rate of the fastest product, if that is more.
  static nlohmann::json printProducts(const Share &share, double &fastest);
  static nlohmann::json printInstructions(const Share &share);
  /// Bytes a second of the large instruction, or copy, that moves most; 0: none
  /// is large.
  static double fastestBytes(const Share &share, bool isOfCopies);
  /// The shares of the peaks that all instructions of a rate reach together.
  static nlohmann::json printShares(const Share &share, double flopsPeak,
                                    double bytesPeak);
  nlohmann::json printDevice(int64_t ranks, const Share &share) const;
  std::string print(double computeWhileSending) const;

  const Machine machine;
  std::map<int64_t, Share> shares; // by ranks
  std::vector<Run> runs;
  // Seconds in each round, by kind, ranks and bytes.
  std::map<std::tuple<plan::CollectiveKind, int64_t, double>,
           std::vector<double>>
      links;
  int64_t linkedRanks = 1; // the most
  double latencySeconds = 0, secondsPerByte = 0;
};

} // namespace zc

#endif // ZC_COMPILER_PLAN_CALIBRATION_H
