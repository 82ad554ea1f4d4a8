// Checkpoints: whole tensors under their ONNX names, in a folder that appears
// complete or not at all.
//
//   DIR/step-N/model-00001-of-00001.safetensors    parameters, statistics
//   DIR/step-N/model.safetensors.index.json
//   DIR/step-N/optimizer-00001-of-00001.safetensors, its index
//   DIR/step-N/train_state.json                    step, seed, scalars
#ifndef ZC_RUNTIME_IO_CHECKPOINT_H
#define ZC_RUNTIME_IO_CHECKPOINT_H

#include "runtime/Exec/Executor.h"

namespace zc {

/// What a run must know, besides tensors, to go on as if never stopped.
struct TrainState {
  int64_t step = 0; // steps done
  uint64_t seed = 0;
  bool shuffle = true;
  int64_t batch = 0;
  int64_t samples = 0;
};

/// What to take from a checkpoint.
enum class CheckpointPart {
  Everything, // to go on training
  Model,      // to evaluate
};

/// Writes DIR/step-N for N = state.step and returns its path. An older folder
/// of that name is replaced only when the new one is complete.
Result<std::string> saveCheckpoint(Executor &executor, const std::string &dir,
                                   const TrainState &state);

/// Reads a checkpoint from its own folder (DIR/step-N) into the executor.
Result<TrainState> loadCheckpoint(Executor &executor, const std::string &path,
                                  CheckpointPart part);

/// The checkpoint that DIR (its latest) or DIR/step-N names.
Result<std::string> findCheckpoint(const std::string &path);

/// The steps that `dir` has checkpoints of, in ascending order.
std::vector<int64_t> listCheckpoints(const std::string &dir);

/// "DIR/step-N".
std::string checkpointPath(const std::string &dir, int64_t step);

/// Removes all but the newest `keep` checkpoints up to step `latest`.
void pruneCheckpoints(const std::string &dir, int64_t latest, int64_t keep);

/// Creates DIR, clears what a killed run left half done, and fails when no
/// checkpoint could be written there.
Status prepareCheckpointFolder(const std::string &dir);

} // namespace zc

#endif // ZC_RUNTIME_IO_CHECKPOINT_H
