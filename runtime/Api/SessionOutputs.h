// What an evaluation of a session computes: the model's outputs over all
// samples, in the host's memory.
#ifndef ZC_RUNTIME_API_SESSIONOUTPUTS_H
#define ZC_RUNTIME_API_SESSIONOUTPUTS_H

#include "runtime/Api/SessionInputs.h"
#include "runtime/Exec/Executor.h"

namespace zc {

class SessionOutputs {
public:
  /// Of the evaluation of the artifact's role, which lives longer.
  SessionOutputs(const plan::Role &role, const plan::Order &order);

  /// The dim of samples is 0 until an evaluation was done.
  const std::vector<NamedTensor> &all() const { return tensors; }
  /// Row-major; null: there is no such output, or nothing was evaluated.
  const char *data(const std::string &name) const;

  /// Makes room for so many samples.
  void begin(int64_t samples);
  /// Behind a call: takes what the program's outputs hold of the samples from
  /// `first` on.
  Status take(Executor &executor, const plan::Call &call, int64_t first);

private:
  struct Source {
    const plan::Program *program = nullptr;
    const plan::Output *output = nullptr;
    uint64_t outer = 1, inner = 1; // bytes of a sample: outer * inner
    int64_t batch = 1;             // samples of a call
    std::string part, whole;
    bool isTaken = false; // of those that belong to no sample
  };

  const plan::Role &role;
  std::vector<NamedTensor> tensors;
  std::vector<Source> sources; // as many
  int64_t samples = 0;
  bool isDone = false;
};

} // namespace zc

#endif // ZC_RUNTIME_API_SESSIONOUTPUTS_H
