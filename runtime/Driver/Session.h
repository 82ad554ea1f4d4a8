// What training and evaluation share: an artifact, its device and its executor,
// opened in the order that reports a user's mistakes soonest.
#ifndef ZC_RUNTIME_DRIVER_SESSION_H
#define ZC_RUNTIME_DRIVER_SESSION_H

#include "runtime/Exec/Executor.h"

namespace zc {

class Session {
public:
  /// Loads the artifact and checks that this process can be all its ranks.
  static Result<std::unique_ptr<Session>> open(const std::string &path);

  const Artifact &artifact() const { return theArtifact; }
  Executor &executor() { return *theExecutor; }

  /// Opens the device and prepares and initialises the named programs.
  /// `threads` 0: as many as the artifact and the machine allow.
  Status prepare(int threads, const std::vector<std::string> &programs);

private:
  explicit Session(Artifact artifact) : theArtifact(std::move(artifact)) {}

  Artifact theArtifact;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> theExecutor;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_SESSION_H
