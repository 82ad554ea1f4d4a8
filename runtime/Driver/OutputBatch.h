// One output of an evaluation, micro-batch by micro-batch, as the whole model
// has it: put together of what ranks have of it.
#ifndef ZC_RUNTIME_DRIVER_OUTPUTBATCH_H
#define ZC_RUNTIME_DRIVER_OUTPUTBATCH_H

#include "runtime/Exec/Executor.h"
#include "runtime/Plan/OutputParts.h"

#include <string>
#include <vector>

namespace zc {

class OutputBatch {
public:
  /// The ranks that need the whole: the first one, or each.
  enum class For { First, All };

  /// `output` is of `holder`, which lives longer; evaluations have so many
  /// micro-batches.
  OutputBatch(const EvaluationProgram &holder, const plan::Output &output,
              const Mesh &mesh, uint32_t microBatches, For whom);

  const plan::Output &output() const { return *theOutput; }
  const plan::TensorType &type() const {
    return program->buffers(theOutput->buffer()).type();
  }
  /// The dims of a whole micro-batch.
  const std::vector<int64_t> &dims() const { return division.wholeDims(); }

  /// How the whole is laid out, row-major: `outer` times samples times `inner`
  /// bytes. Where samples do not count, `outer` is 1.
  uint64_t outer() const { return theOuter; }
  uint64_t inner() const { return theInner; }

  /// Reads the output of a micro-batch where it is one of the program that has
  /// just been called.
  Status read(Executor &executor, const plan::Call &call);

  /// The whole of a micro-batch that was read, until the next call. Called by
  /// all ranks, once for each.
  Result<const std::string *> join(World &world, size_t microBatch);
  size_t microBatches() const { return mine.size(); }

private:
  const plan::Program *program;
  const plan::Output *theOutput;
  OutputParts division;
  bool isJoined; // of what several ranks have, or others than who wants it
  uint64_t theOuter = 1, theInner = 1;
  std::vector<std::string> mine; // as calls leave it, by micro-batch
  std::string parts;             // one micro-batch's of all ranks
  std::string whole;             // put together from them
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_OUTPUTBATCH_H
