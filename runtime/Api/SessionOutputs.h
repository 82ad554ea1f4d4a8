// The results of a session's evaluation: the model's outputs over all samples,
// in the host's memory.
#ifndef ZC_RUNTIME_API_SESSIONOUTPUTS_H
#define ZC_RUNTIME_API_SESSIONOUTPUTS_H

#include "runtime/Api/SessionInputs.h"
#include "runtime/Driver/OutputBatch.h"

namespace zc {

class SessionOutputs {
public:
  /// Lists the outputs of the artifact's evaluation. Each rank has the outputs
  /// of all roles. The artifact must live longer.
  SessionOutputs(const Artifact &artifact, const Mesh &mesh);

  /// The dim of samples is 0 until an evaluation was done.
  const std::vector<NamedTensor> &all() const { return tensors; }
  /// Row-major; null: there is no such output, or nothing was evaluated.
  const char *data(const std::string &name) const;

  /// Makes room for so many samples.
  void begin(int64_t samples);
  /// Behind a call: takes what the program's outputs hold.
  Status take(Executor &executor, const plan::Call &call);
  /// Behind an evaluation, which had the samples from `first` on, in
  /// micro-batches of `each`. Called by all ranks.
  Status append(World &world, int64_t first, int64_t each);

private:
  struct Source {
    OutputBatch batches;
    std::string whole;
    bool isTaken = false; // of those that belong to no sample
  };
  void place(Source &source, const std::string &batch, int64_t first);

  std::vector<NamedTensor> tensors;
  std::vector<Source> sources; // as many
  int64_t samples = 0;
  bool isDone = false;
};

} // namespace zc

#endif // ZC_RUNTIME_API_SESSIONOUTPUTS_H
