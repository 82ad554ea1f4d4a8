// `zc run`: trains an artifact on data.
#ifndef ZC_RUNTIME_DRIVER_TRAINER_H
#define ZC_RUNTIME_DRIVER_TRAINER_H

#include "runtime/Base/InputFiles.h"
#include "runtime/Driver/Alike.h"
#include "runtime/Driver/CheckpointKeeper.h"
#include "runtime/Driver/Launch.h"
#include "runtime/Driver/LearningRate.h"
#include "runtime/Driver/Trace.h"
#include "runtime/Driver/UpdateSettings.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zc {

struct TrainOptions {
  std::string artifact, data;
  int tokenBits = 0; // of .bin files without a header; 0: nobody has said
  std::optional<int64_t> steps, epochs; // the run's total; exactly one is set
  std::optional<uint64_t> seed;         // unset: 0, or the checkpoint's
  std::optional<bool> shuffle;          // unset: true, or the checkpoint's
  LearningRateSchedule learningRate;
  UpdateSettings settings; // otherwise than compiled
  /// The options that the run so far had and that this one was not given.
  std::set<std::string> takenOver;
  std::string initFrom; // weights to begin with; empty: the artifact's
  CheckpointOptions checkpoint;
  CheckpointOptions replicas; // copies in memory: place and how often alone
  std::string log;            // empty: none; "-": standard output
  std::string evalData;       // held-out samples; empty: none
  int64_t evalEvery = 0;      // 0: at the end only
  std::vector<std::string> metrics; // of evaluations
  std::string keepBest;             // a metric; empty: none
  int64_t patience = 0;    // evaluations without a better one; 0: any number
  double maxTime = 0;      // seconds; 0: any
  int64_t logEvery = 0;    // steps between lines; 0: as suits each
  bool quiet = false;      // no progress
  std::string tensorboard; // a folder for event files; empty: none
  std::string trace;       // empty: none
  TraceWindow traceSteps;
  bool profile = false;
  std::string offloadFolder; // for what is offloaded; empty: $TMPDIR, /var/tmp
  int threads = 0;
  std::optional<std::string> tuningFile; // none: by rule; empty: the usual one
  NamedTexts record; // what checkpoints remember of the options
};

/// Separated by commas.
std::string joinNames(const std::vector<std::string> &names);

/// The options that decide a run's numbers or its collectives.
Alike listAlike(const TrainOptions &options, const DataFile &data,
                const DataFile *evalData);

/// Options that may not be meant so, as the run has `total` steps.
std::vector<std::string> listDoubts(const TrainOptions &options, int64_t total);

/// No file that is written may be one that is read: the artifact's, the data's,
/// a checkpoint's to begin with.
Status checkOutputs(const TrainOptions &options, InputFiles inputs,
                    const DataFile &data, const DataFile *evalData);

/// One rank's part of training; the first one alone prints and writes logs.
/// Returns how the run ended: the signal that stopped it, or 0.
Result<int> train(const TrainOptions &options, const Rank &rank);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_TRAINER_H
