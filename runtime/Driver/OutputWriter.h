// Writes one output of an evaluation, batch by batch, to a .npy file that
// appears when it is whole. Every rank has one; the first writes for all.
#ifndef ZC_RUNTIME_DRIVER_OUTPUTWRITER_H
#define ZC_RUNTIME_DRIVER_OUTPUTWRITER_H

#include "runtime/Base/File.h"
#include "runtime/Driver/OutputBatch.h"

#include <optional>
#include <vector>

namespace zc {

class OutputWriter {
public:
  /// One writer for each model output of the evaluation, whichever role has it.
  static Result<std::vector<OutputWriter>>
  createAll(const Artifact &artifact, const std::string &folder,
            int64_t samples, const Mesh &mesh, bool isFirst);

  /// Reads the output of a micro-batch where it is one of the program that has
  /// just been called.
  Status read(Executor &executor, const plan::Call &call) {
    return batches.read(executor, call);
  }

  /// Takes the first `count` samples of what the ranks have read, of which a
  /// micro-batch has `each`. Called by all ranks.
  Status append(World &world, int64_t count, int64_t each);

  Status finish();
  const std::string &path() const { return thePath; }

  /// Whether the output has no sample dim and yet was not the same for every
  /// micro-batch: that of the first one is written.
  bool differsByBatch() const { return isOfBatch; }

private:
  OutputWriter(OutputBatch batches, std::string path, int64_t samples)
      : batches(std::move(batches)), thePath(std::move(path)),
        samples(samples) {}
  Status openFile();
  Status appendBatch(const std::string &batch, int64_t count);
  Status writeElements(const char *data, uint64_t bytes);

  OutputBatch batches;
  std::string thePath;
  std::optional<AtomicFile> file; // the first rank's
  int64_t samples, done = 0;
  std::string whole; // everything, when samples do not count along dim 0
  bool isOfBatch = false;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_OUTPUTWRITER_H
