// Writes one output of an evaluation, batch by batch, to a .npy file that
// appears when it is whole.
#ifndef ZC_RUNTIME_DRIVER_OUTPUTWRITER_H
#define ZC_RUNTIME_DRIVER_OUTPUTWRITER_H

#include "runtime/Base/File.h"
#include "runtime/Exec/Executor.h"

#include <vector>

namespace zc {

class OutputWriter {
public:
  /// One writer for each model output of the program.
  static Result<std::vector<OutputWriter>>
  createAll(const plan::Program &program, const std::string &folder,
            int64_t samples);

  /// Takes the first `count` samples of the output that is in memory.
  Status append(Executor &executor, int64_t count);

  Status finish();
  const std::string &path() const { return thePath; }

private:
  OutputWriter(const plan::Program &program, const plan::Output &output,
               std::string path, AtomicFile file, int64_t samples);
  static Result<OutputWriter> create(const plan::Program &program,
                                     const plan::Output &output,
                                     const std::string &path, int64_t samples);
  Status writeElements(const char *data, uint64_t bytes);

  const plan::Program *program;
  const plan::Output *output;
  std::string thePath;
  AtomicFile file;
  int64_t samples, done = 0;
  uint64_t outer = 1, inner = 1; // bytes of one sample: outer * inner
  std::string batch;             // the output as the program leaves it
  std::string whole; // everything, when samples do not count along dim 0
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_OUTPUTWRITER_H
