// A proof beside the compilation it is of.
#ifndef ZC_COMPILER_DRIVER_PROOFPROCESS_H
#define ZC_COMPILER_DRIVER_PROOFPROCESS_H

#include "compiler/Driver/DivisionProof.h"

#include <functional>
#include <sys/types.h>

namespace zc {

/// A process that has what this one has, proves, and reports. Whatever goes
/// wrong in it does no harm here.
class ProofProcess {
public:
  /// Threads must not be running. Where no process can be started, the proof
  /// is not shown.
  explicit ProofProcess(const std::function<ProofReport()> &prove);
  ~ProofProcess();
  ProofProcess(const ProofProcess &) = delete;
  ProofProcess &operator=(const ProofProcess &) = delete;

  /// The report. A process that is not done after another `seconds` is ended,
  /// once it has computed for as long as this one since its start and those
  /// seconds: on a busy machine it may not have had its turn. 0: it may take
  /// its time.
  ProofReport wait(double seconds);

  /// Seconds of processors that it has taken so far, or in all.
  double usedSeconds() const;

private:
  double ownSeconds() const;
  void end();

  pid_t process = -1; // none
  int answers = -1;   // to be read
  double began = 0;   // this process' seconds of processors
  double inAll = 0;   // the other's, once it has ended
};

} // namespace zc

#endif
