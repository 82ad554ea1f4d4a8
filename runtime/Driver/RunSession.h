// A session of libzc as zc-run's commands have it: they call the functions of
// zc.h on it, and what they ask besides is named in ApiSession.h.
#ifndef ZC_RUNTIME_DRIVER_RUNSESSION_H
#define ZC_RUNTIME_DRIVER_RUNSESSION_H

#include "runtime/Api/Handle.h"
#include "runtime/Io/RunLog.h"

namespace zc {

class RunSession {
public:
  /// The artifact is read and checked; zc_prepare() takes the memory. Called by
  /// all ranks.
  static Result<RunSession> open(const std::string &artifact,
                                 ApiOptions options, ApiRun run);

  operator zc_session *() const { return handle.get(); }

  /// Turns the result of a function of zc.h into a Status with the text of its
  /// failure. Non-finite numbers and stops are failures as well.
  Status check(zc_status status) const;

  /// The loss and metrics that the last zc_eval_data() has left.
  EvaluationRecord evaluation() const;

  /// The session's parts beyond zc.h.
  ApiSession &inside() const { return *handle->body; }

private:
  struct Close {
    void operator()(zc_session *session) const { zc_close(&session); }
  };
  explicit RunSession(zc_session *session) : handle(session) {}

  std::unique_ptr<zc_session, Close> handle;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_RUNSESSION_H
