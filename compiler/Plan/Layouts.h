//===- Layouts.h - the ways to divide a step among ranks --------*- C++ -*-===//
//
// The layouts of `zc plan --search`, and estimates of each by closed forms from
// one compilation for one rank. The estimates only decide which layouts are
// compiled and simulated first.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_PLAN_LAYOUTS_H
#define ZC_COMPILER_PLAN_LAYOUTS_H

#include "compiler/Plan/PlanReport.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zc {

/// One way.
struct StepLayout {
  int64_t pp = 1, dp = 1, ep = 1, sp = 1, tp = 1;
  int64_t zero = 0;
  int64_t accumulate = 1; // micro-batches
  std::string schedule = "1f1b";
  int64_t chunks = 0; // of the schedule "interleaved"
  std::string recompute = "none";
  std::string offload = "none"; // or optimizer: its states, in a second memory

  int64_t ranks() const { return pp * dp * ep * sp * tp; }
  /// Whether stages send each rank's part of what tp's ranks have whole: fewer
  /// bytes between them and in their rings, for a gather within tp.
  bool dividesMessages() const { return pp > 1 && tp > 1; }
  /// "pp=2,tp=4", or empty for one rank.
  std::string mesh() const;
  /// The options for `zc compile`: "--mesh dp=4,tp=2 --zero 1 --accumulate 8".
  std::string arguments() const;
  /// The same for people, who are told where there is none.
  std::string options() const;
};

/// The choices to search; one that the user has fixed has one entry.
struct LayoutSpace {
  int64_t ranks = 1;
  int64_t batch = 0; // samples of a step; 0: no input counts samples
  int64_t layers = 1;
  int64_t neighbours = 1; // devices that the innermost links join: tp's limit
  bool hasExperts = false;
  std::vector<int64_t> zero = {0, 1, 2, 3};
  std::vector<int64_t> accumulate; // empty: 1, 2, 4, ... as the batch allows
  std::vector<std::string> recompute = {"none", "layer"};
  std::vector<std::string> offload = {"none"};
  std::vector<std::string> schedules = {"1f1b", "interleaved",
                                        "zero-bubble=h1"};
  std::optional<StepLayout> mesh; // fixed axes
};

std::vector<StepLayout> listLayouts(const LayoutSpace &space);

/// One rank's plan of the whole batch, to compose from.
struct LayoutBasis {
  double seconds = 0;             // of its step, without its launches and calls
  double launchSeconds = 0;       // of the instructions of a micro-batch
  double updateLaunchSeconds = 0; // of those of the update
  double callSeconds = 0;         // of one call of a program
  double parameterBytes = 0;      // of what is trained, float32
  double persistentBytes = 0; // parameters, gradients and optimizer's states
  double optimizerBytes = 0;
  double activationBytes = 0; // of the whole batch, kept at once
  double boundaryBytes = 0;   // of what goes from a layer to the next
  int64_t layers = 1;

  static LayoutBasis of(const plan::Manifest &manifest,
                        const PlanReport &report, const Cluster &cluster);
};

struct LayoutEstimate {
  double seconds = 0, bytes = 0;
};
LayoutEstimate estimateLayout(const StepLayout &layout,
                              const LayoutBasis &basis, const Cluster &cluster);

} // namespace zc

#endif // ZC_COMPILER_PLAN_LAYOUTS_H
