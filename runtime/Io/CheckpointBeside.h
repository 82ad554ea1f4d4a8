// Checkpoints that are written while the run goes on, from a copy of its
// states.
#ifndef ZC_RUNTIME_IO_CHECKPOINTBESIDE_H
#define ZC_RUNTIME_IO_CHECKPOINTBESIDE_H

#include "runtime/Io/Checkpoint.h"

#include <atomic>
#include <memory>
#include <optional>

namespace zc {

/// One writer on each rank, with a thread of its own. It completes a checkpoint
/// once begun: before a rank leaves, it must let it finish() or have told the
/// world that it has failed.
class CheckpointBeside {
public:
  /// Called by all ranks. `channel` counts the writers of a run, from 0. The
  /// executor must outlive it.
  explicit CheckpointBeside(Executor &executor, uint32_t channel = 0);
  ~CheckpointBeside();

  /// Bytes of this rank's copy, which is there from allocateBeside() on,
  /// or from the first begin().
  uint64_t copyBytes() const;
  /// Whether the copies of all ranks fit the memory that their hosts have left,
  /// and no state is kept out of memory because memory is short. Called by all
  /// ranks, which get the same answer.
  Result<bool> hasRoom();

  /// Begins to get the memory of the copy, so that the first begin() need not.
  void allocateBeside();

  /// Copies the states and begins to write DIR/step-N, with the failures of
  /// saveCheckpoint() that concern the states. Called by all ranks, while
  /// nothing is under way.
  Status begin(const std::string &dir, const TrainState &state);

  /// Whether something was begun that finish() has not been told of.
  bool isUnderWay() const { return hasBegun; }
  /// Whether finish() would not wait.
  bool hasEnded() const;
  /// Waits for the end and returns the checkpoint's path. If one rank fails,
  /// all do.
  Result<std::string> finish();

private:
  struct Work;
  std::unique_ptr<Work> work;
  bool hasBegun = false;
};

} // namespace zc

#endif // ZC_RUNTIME_IO_CHECKPOINTBESIDE_H
