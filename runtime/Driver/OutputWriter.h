// Writes one output of an evaluation, batch by batch, to a .npy file that
// appears when it is whole. Every rank has one; the first writes for all.
#ifndef ZC_RUNTIME_DRIVER_OUTPUTWRITER_H
#define ZC_RUNTIME_DRIVER_OUTPUTWRITER_H

#include "runtime/Base/File.h"
#include "runtime/Exec/Executor.h"
#include "runtime/Plan/OutputParts.h"

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
  Status read(Executor &executor, const plan::Call &call);

  /// Takes the first `count` samples of what the ranks have read, of which a
  /// micro-batch has `each`. Called by all ranks.
  Status append(World &world, int64_t count, int64_t each);

  Status finish();
  const std::string &path() const { return thePath; }

  /// Whether the output has no sample dim and yet was not the same for every
  /// micro-batch: what is written is of the first.
  bool differsByBatch() const { return isOfBatch; }

private:
  OutputWriter(const EvaluationProgram &holder, const plan::Output &output,
               std::string path, const Mesh &mesh, uint32_t microBatches,
               int64_t samples);
  Status openFile();
  Status joinBatch(World &world, std::string &part);
  Status appendBatch(int64_t count);
  Status writeElements(const char *data, uint64_t bytes);

  const plan::Program *program;
  const plan::Output *output;
  std::string thePath;
  std::optional<AtomicFile> file; // the first rank's
  int64_t samples, done = 0;
  bool isJoined =
      false; // of what several ranks have, or another than the first
  OutputParts division;
  uint64_t outer = 1, inner = 1; // bytes of one sample: outer * inner
  std::vector<std::string> mine; // the output as calls leave it, by micro-batch
  std::string parts;             // one micro-batch's of all ranks
  std::string batch;             // put together from them
  std::string whole; // everything, when samples do not count along dim 0
  bool isOfBatch = false;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_OUTPUTWRITER_H
