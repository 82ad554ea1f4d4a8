// Batches that arrive on standard input: one rank reads them, all are told.
#ifndef ZC_RUNTIME_DRIVER_STREAMEDBATCHES_H
#define ZC_RUNTIME_DRIVER_STREAMEDBATCHES_H

#include "runtime/Comm/World.h"
#include "runtime/Io/ArrayStream.h"
#include "runtime/Io/DataFile.h"

namespace zc {

/// The name of standard input in `--data`.
constexpr const char *kStandardInput = "-";

/// A rank that has only heard of another's failure agrees as one without.
Status ownFailure(const Status &status);

class StreamedBatches {
public:
  /// All ranks: waits for the first batch of a step of the artifact's. A signal
  /// may end that; no batch has come then, and signal() says which it was.
  static Result<std::unique_ptr<StreamedBatches>>
  open(World &world, const plan::Manifest &manifest);

  /// The batch that came last.
  const std::shared_ptr<const DataFile> &current() const { return batch; }

  /// All ranks: waits for the next batch, unless the first has not been taken
  /// yet; whether there is one. Where it cannot be read, all fail, which they
  /// have not agreed upon yet (World::agree).
  Result<bool> advance();

  /// Where it has ended: how many samples that fill no batch are left over.
  int64_t left() const { return leftOver; }
  /// The signal for which the first rank waits no longer, or 0; on all ranks.
  int signal() const { return int(stoppedBy); }

private:
  StreamedBatches(World &world, const plan::Manifest &manifest,
                  std::vector<std::string> inputs);
  Result<bool> read();
  Result<std::string> readHere();
  Status share(std::string &bytes, bool &hasFailed);

  World &world;
  std::vector<std::string> inputs;
  int64_t samples; // of a batch
  ArrayStream stream;
  std::shared_ptr<const DataFile> batch;
  bool isFresh = false; // the first, which nobody has taken
  int64_t leftOver = 0, stoppedBy = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_STREAMEDBATCHES_H
