// Saves one checkpoint: some tensors are taken from the executor at once,
// others are written while it goes on. Private to this folder.
#ifndef ZC_RUNTIME_IO_CHECKPOINTSAVE_H
#define ZC_RUNTIME_IO_CHECKPOINTSAVE_H

#include "runtime/Io/CheckpointParts.h"
#include "runtime/Io/TemporaryFolder.h"

#include <functional>
#include <optional>

namespace zc::checkpoint {

/// Gives bytes of a part, from its byte `at` on: of this rank's part number
/// `index`, in the order of CheckpointSave::parts(). They stay until the next
/// call.
using PartReader = std::function<Result<const char *>(size_t index, uint64_t at,
                                                      uint64_t bytes)>;

/// The files of a run's checkpoints, and what of them this rank writes: the
/// same for all steps.
class CheckpointLayout {
public:
  explicit CheckpointLayout(Executor &executor);
  CheckpointLayout(const CheckpointLayout &) = delete;

  struct GroupFiles {
    const Group *group;
    std::vector<TensorFile> files;
    std::vector<size_t> firstPart; // of each file, and their number
  };
  const std::vector<GroupFiles> &groups() const { return theGroups; }
  const std::vector<Part> &parts() const { return theParts; }

private:
  std::vector<GroupFiles> theGroups;
  std::vector<Part> theParts;
};

class CheckpointSave {
public:
  /// Checks copies, creates a temporary folder and takes scalars. Called by all
  /// ranks. `layout` must outlive it.
  static Result<CheckpointSave> begin(Executor &executor,
                                      const CheckpointLayout &layout,
                                      const std::string &dir,
                                      const TrainState &state);

  /// Writes the files, pieces of `chunk` bytes at a time, and renames the
  /// folder into place; returns its path. Called by all ranks, each on one
  /// thread, which agree through `through`; null: as all ranks of the world
  /// do. Ends early once a rank has failed.
  Result<std::string> write(World &world, const PartReader &read,
                            uint64_t chunk, Communicator *through = nullptr);

private:
  explicit CheckpointSave(const CheckpointLayout &layout) : layout(&layout) {}
  Status writeGroup(World &world, const CheckpointLayout::GroupFiles &group,
                    const PartReader &read, uint64_t chunk,
                    Communicator *through) const;
  Status finish();

  const CheckpointLayout *layout;
  std::string target;
  std::optional<TemporaryFolder> folder; // with the first rank
  std::string path;                      // of that, on all ranks
  std::string trainState;                // with the first rank
};

} // namespace zc::checkpoint

#endif // ZC_RUNTIME_IO_CHECKPOINTSAVE_H
