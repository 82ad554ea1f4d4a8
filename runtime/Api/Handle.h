// The struct behind a handle of zc.h, and how zc-run gets one.
#ifndef ZC_RUNTIME_API_HANDLE_H
#define ZC_RUNTIME_API_HANDLE_H

#include "runtime/Api/ApiSession.h"
#include "runtime/Api/zc.h"

#include <atomic>

struct zc_session {
  std::unique_ptr<zc::ApiSession> body; // null: it could not be opened
  std::string error;
  std::atomic<bool> busy{false};
};

namespace zc {

/// As zc_open() with `later`, on a rank of launch().
zc_status openRun(const std::string &artifact, ApiOptions options, ApiRun run,
                  zc_session **session);

} // namespace zc

#endif // ZC_RUNTIME_API_HANDLE_H
