// An exchange among ranks after each step: whether it is the last, its time,
// and its metrics.
#ifndef ZC_RUNTIME_DRIVER_STEPAGREEMENT_H
#define ZC_RUNTIME_DRIVER_STEPAGREEMENT_H

#include "runtime/Driver/StepChecks.h"
#include "runtime/Exec/Streams.h"

namespace zc {

/// One rank's, and then what all ranks together know.
struct StepNews {
  int64_t step = 0; // from 1
  Status status;
  int64_t stop = 0;       // a signal to stop for
  int64_t sentBytes = 0;  // then by the rank that sends most
  int64_t cannotFeed = 0; // whether samples of the next step are missing
  StepMetrics metrics;
  float rate = 0;
  double seconds = 0;
};

class StepAgreement {
public:
  /// `roles`: each of so many reports its own part of the metrics, this rank's
  /// is number `role`; 1: every rank has all of them.
  StepAgreement(World &world, int roles, int role)
      : world(world), roles(roles), role(role) {}
  /// Where it is under way, the ranks have to be told first (World::fail).
  ~StepAgreement() { side.wait(); }

  /// Called by all ranks, in turn with finish(). `beside`: it goes on while
  /// this rank does other things.
  void begin(StepNews mine, bool beside);
  bool isUnderWay() const { return hasBegun; }
  /// Waits; fails where a rank has failed.
  Result<StepNews> finish();

private:
  std::vector<int64_t> tell() const;
  void take(const std::vector<int64_t> &told);

  World &world;
  const int roles, role;
  bool hasBegun = false;
  StepNews news;
  SideThread side; // ends first
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_STEPAGREEMENT_H
