// Writes one output of an evaluation, batch by batch, to a .npy file that
// appears when it is whole. Every rank has one; the first writes for all.
#ifndef ZC_RUNTIME_DRIVER_OUTPUTWRITER_H
#define ZC_RUNTIME_DRIVER_OUTPUTWRITER_H

#include "runtime/Base/File.h"
#include "runtime/Exec/Executor.h"

#include <optional>
#include <vector>

namespace zc {

class OutputWriter {
public:
  /// One writer for each model output of the evaluation, whichever role has it.
  static Result<std::vector<OutputWriter>>
  createAll(const Artifact &artifact, const std::string &folder,
            int64_t samples, const Mesh &mesh, bool isFirst);

  /// Reads the output where it is one of the program, which has just run.
  Status read(Executor &executor, const plan::Program &program);

  /// Takes the first `count` samples of what the ranks have read. Called by all
  /// ranks.
  Status append(World &world, int64_t count);

  Status finish();
  const std::string &path() const { return thePath; }

  /// Whether the output has no sample dim and yet was not the same for every
  /// batch: what is written is of the first.
  bool differsByBatch() const { return isOfBatch; }

private:
  OutputWriter(const plan::Program &program, int role,
               const plan::Output &output, std::string path, const Mesh &mesh,
               int64_t samples);
  Status openFile();
  Status joinBatch(World &world);
  Status writeElements(const char *data, uint64_t bytes);

  const plan::Program *program;
  const plan::Output *output;
  std::string thePath;
  std::optional<AtomicFile> file; // the first rank's
  int64_t samples, done = 0;
  bool isJoined =
      false; // of what several ranks have, or another than the first
  std::vector<int> sharers; // the ranks whose parts are the batch, in order
  uint64_t outer = 1, inner = 1; // bytes of one sample: outer * inner
  std::string part;              // the output as the program leaves it
  std::string parts;             // that of all ranks
  std::string batch;             // of the sharers, put together
  std::string whole; // everything, when samples do not count along dim 0
  bool isOfBatch = false;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_OUTPUTWRITER_H
