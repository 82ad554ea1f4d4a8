// Checkpoints: whole tensors under their ONNX names, in a folder that appears
// complete or not at all.
//
//   DIR/step-N/model-0000R-of-0000W.safetensors    parameters, statistics
//   DIR/step-N/model.safetensors.index.json
//   DIR/step-N/optimizer-0000R-of-0000W.safetensors, its index
//   DIR/step-N/train_state.json                    step, seed, scalars
//
// All ranks write and read at once, into and from one file system that they
// share; the bytes of a file do not depend on the ranks' sharding.
#ifndef ZC_RUNTIME_IO_CHECKPOINT_H
#define ZC_RUNTIME_IO_CHECKPOINT_H

#include "runtime/Exec/Executor.h"
#include "runtime/Io/FolderLock.h"
#include "runtime/Plan/CheckpointFolder.h"

#include <string>
#include <utility>
#include <vector>

namespace zc {

/// Names and values, in the order in which they were written.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// Besides tensors, all that a run needs to resume as if never stopped.
struct TrainState {
  int64_t step = 0; // steps done
  uint64_t seed = 0;
  bool shuffle = true;
  int64_t batch = 0;
  int64_t samples = 0;
  NamedTexts options;  // of `zc run`, which a resumed run takes over
  NamedTexts compiled; // what the artifact computes with: loss, optimizer, ...
  ChosenWays ways;     // of calls that can be computed in several
  /// Set when a read state lacks the tensors that each rank keeps for itself,
  /// as ranks now divide the step otherwise; they begin at zeros.
  bool isPartial = false;
};

/// The part to read from a checkpoint.
enum class CheckpointPart {
  Everything, // to go on training
  Model,      // to evaluate
  Averages,   // to evaluate moving averages in place of the weights
};

/// Writes DIR/step-N for N = state.step and returns its path. An older folder
/// of that name is replaced only when the new one is complete. Fails when a
/// state holds an infinity or NaN: from there no run can go on. Called by all
/// ranks; if one fails, all do.
Result<std::string> saveCheckpoint(Executor &executor, const std::string &dir,
                                   const TrainState &state);

/// Reads a checkpoint from its own folder (DIR/step-N) into the executor.
Result<TrainState> loadCheckpoint(Executor &executor, const std::string &path,
                                  CheckpointPart part);

/// The `train_state.json` of a checkpoint's own folder.
Result<TrainState> readTrainState(const std::string &path);

/// The result of reading weights that another artifact or program wrote.
struct WeightsReport {
  size_t loaded = 0;
  std::vector<std::string> missing;   // of the artifact's, that the file lacks
  std::vector<std::string> misshapen; // "w: F32 [3], here F32 [4]"
  std::vector<std::string> unused;    // of the file's, that nothing here has
  std::vector<std::string> frozen;    // here in code: values not compared
};

/// Reads the model's tensors, by their ONNX names, from a checkpoint (DIR or
/// DIR/step-N) or a .safetensors file; floating-point types are converted.
/// Those that do not match stay as they are. Fails where none does.
Result<WeightsReport> loadWeights(Executor &executor, const std::string &path);

/// Writes the model's tensors to a .safetensors file, sorted by name, with
/// checksums. Called by all ranks; the first one writes.
Status saveWeights(Executor &executor, const std::string &path);

/// The report in sentences for people, none where everything matched.
std::vector<std::string> describe(const WeightsReport &report,
                                  const std::string &path);

/// Removes all but the newest `keep` checkpoints up to step `latest`, and but
/// that of step `best`; -1: none is.
void pruneCheckpoints(const std::string &dir, int64_t latest, int64_t keep,
                      int64_t best = -1);

/// Renames the checkpoints of these steps to DIR/replaced-step-N, which no run
/// goes on from by itself. One that has this name already is removed.
void setCheckpointsAside(const std::string &dir,
                         const std::vector<int64_t> &steps);

/// Removes the checkpoints of these steps. Returns how many there were.
size_t removeCheckpoints(const std::string &dir,
                         const std::vector<int64_t> &steps);

/// Removes the checkpoints of steps after `step`, which another run left and
/// which would pass for the latest. Returns how many there were.
size_t removeLaterCheckpoints(const std::string &dir, int64_t step);

/// Creates DIR, locks it for this run, clears what a killed run left half done,
/// and fails when no checkpoint could be written there.
Result<FolderLock> prepareCheckpointFolder(const std::string &dir);

} // namespace zc

#endif // ZC_RUNTIME_IO_CHECKPOINT_H
