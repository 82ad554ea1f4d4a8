// Manages the checkpoints of one run: the folder, those there already, writing,
// keeping and removing.
#ifndef ZC_RUNTIME_DRIVER_CHECKPOINTKEEPER_H
#define ZC_RUNTIME_DRIVER_CHECKPOINTKEEPER_H

#include "runtime/Driver/BestSoFar.h"
#include "runtime/Io/CheckpointBeside.h"

#include <functional>
#include <optional>

namespace zc {

struct CheckpointOptions {
  std::string place;     // DIR, or DIR/step-N to go on from; empty: none at all
  int64_t saveEvery = 0; // 0: at the end only
  int64_t keep = 0;      // 0: all
  bool resume = false;
  bool overwrite = false;
  bool beside = true; // of --save-every: while steps go on, where memory allows
  uint32_t channel = 0;  // of its own for each keeper of a run
  bool inMemory = false; // copies, in a folder of the launcher's
};

class CheckpointKeeper {
public:
  using Note = std::function<void(const std::string &)>;

  explicit CheckpointKeeper(const CheckpointOptions &options)
      : options(options) {}

  bool isOff() const { return options.place.empty(); }

  /// Whether there is a run to go on with.
  bool isResumed() const { return resumed; }

  /// Finds out what is there; fails where the folder holds another run and
  /// nothing says what is to become of it. Called by all ranks, of which the
  /// first makes the folder.
  Status open(bool first);

  /// The checkpoint to go on from.
  Result<std::string> findStart();

  /// Makes ready what writes checkpoints beside the steps, where that is asked
  /// for and the machines have room. Called by all ranks.
  Status prepareBeside(Executor &executor);
  /// Bytes of this rank's copy of its states; 0: steps wait for checkpoints.
  uint64_t copyBytes() const { return beside ? beside->copyBytes() : 0; }
  /// Whether there was no room for it.
  bool lacksRoom() const { return noRoom; }

  /// Writes the checkpoint of the state's step, unless it is there. Called by
  /// all ranks. `note` gets what a user should know.
  Status save(Executor &executor, const TrainState &state, const Note &note);
  /// Begins to, and returns once the states are copied; as save() where nothing
  /// writes beside the steps. One that is still being written is waited for.
  Status beginSave(Executor &executor, const TrainState &state,
                   const Note &note);
  /// Takes note of one that has been written meanwhile; with `wait`, of one
  /// that is still being written. Fails where it could not be.
  Status land(bool wait, const Note &note);

  /// Names the checkpoint of the step the best, for all who look: it stays
  /// whatever --keep says. Called by the first rank.
  Status nameBest(const BestSoFar &best);
  /// Remembers evaluations that were no better.
  Status countBest(const BestSoFar &best) const;

  /// The newest one that is complete; empty: there is none.
  const std::string &latest() const { return lastCheckpoint; }
  const std::string &folder() const { return theFolder; }
  /// Steps of checkpoints that are set aside when the run writes its first.
  const std::vector<int64_t> &later() const { return theLater; }
  /// Names the checkpoints that a user still has when a run ends early. Waits
  /// for the one that is being written.
  std::string printKept();
  /// Names the checkpoints that are complete now.
  std::string latestKept() const;

private:
  void tidy(int64_t step, const Note &note);
  Status findLater(const std::vector<int64_t> &found);
  void setLaterAside(const Note &note);
  void removeStaleBest();
  Status explainRoom(const Status &failure) const;
  Status take(const Result<std::string> &saved, int64_t step);

  CheckpointOptions options;
  bool resumed = false;
  std::string theFolder;
  std::optional<FolderLock> lock; // with the first rank
  std::string lastCheckpoint;
  // Checkpoints of another run, until the first of this one is complete.
  std::vector<int64_t> replaced;
  std::vector<int64_t> theLater; // than the one that the run goes on from
  int64_t savedStep = -1; // a signal may end the run where a save was due
  std::unique_ptr<CheckpointBeside> beside; // null: steps wait
  bool noRoom = false;
  bool isFirst = false;
  int64_t landedStep = -1; // that is to be tidied up after
  int64_t bestStep = -1;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_CHECKPOINTKEEPER_H
