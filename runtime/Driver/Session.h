// Shared by training and evaluation: an artifact, its device and its executor,
// opened in the order that reports a user's mistakes soonest.
#ifndef ZC_RUNTIME_DRIVER_SESSION_H
#define ZC_RUNTIME_DRIVER_SESSION_H

#include "runtime/Driver/Launch.h"
#include "runtime/Driver/Tuning.h"
#include "runtime/Exec/Executor.h"

namespace zc {

/// Used by all ranks alike: if one fails, all do.
class Session {
public:
  /// Loads the artifact and checks that all ranks have the same one, and that
  /// they are as many as it is for.
  static Result<std::unique_ptr<Session>> open(const Rank &rank,
                                               const std::string &path);

  const Artifact &artifact() const { return *theArtifact; }
  Executor &executor() { return *theExecutor; }
  /// The orders of this rank's role in a step and in an evaluation's batch.
  const Orders &orders() const { return theOrders; }

  /// Opens the device and prepares and initialises the named programs; random
  /// numbers, now or later, come from `seed`. `threads` 0: as many as the
  /// artifact and the machine allow. `offloadFolder` and `besides` as in
  /// Executor::prepare. `tuning`: null on all ranks, or on none.
  Status prepare(int threads, uint64_t seed,
                 const std::vector<std::string> &programs,
                 const std::string &offloadFolder = "",
                 const std::vector<std::string> &besides = {},
                 const TuningOptions *tuning = nullptr);

  /// The ways of calls that were chosen, and what to tell of them.
  const Tuning &tuning() const { return theTuning; }
  /// From now on calls are computed in these ways, those of a run that goes on.
  Status takeWays(const ChosenWays &ways);

  /// Makes the parameters' 16-bit copies, where the artifact has such: after
  /// parameters were read. The program programs::kCopy must be prepared then.
  Status makeCopies();
  /// The same where no step has been: of all versions, which are alike.
  Status makeFirstCopies();

  /// From where random numbers are drawn from now on.
  Status writeSeed(uint64_t seed);

  /// Called by a thread that goes on with the session where another thread was
  /// before, or another session on this thread.
  void enterThread() { device->enterThread(); }

  /// Why the device has fewer threads than planned; empty: it has not.
  const std::string &threadNote() const { return theThreadNote; }

  /// Where threads stay, or why they are free; empty: there is one thread.
  const std::string &pinNote() const { return thePinNote; }

  /// The scalar state of that name, or null.
  const plan::State *findScalar(const std::string &name) const;

private:
  Session(const Rank &rank, std::shared_ptr<const Artifact> artifact)
      : rank(rank), theArtifact(std::move(artifact)),
        theOrders(ordersOf(*theArtifact)) {}
  Status openDevice(int threads, const Rank::Share &share);
  std::vector<int> ownProcessors(int threads, const OwnCores &own);

  Rank rank;
  std::shared_ptr<const Artifact> theArtifact;
  const Orders theOrders;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> theExecutor;
  std::string theThreadNote, thePinNote;
  Tuning theTuning;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_SESSION_H
