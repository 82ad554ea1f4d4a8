#include "runtime/Base/Ending.h"

#include <atomic>
#include <cstdlib>

namespace zc {

// Read where memory has run out, and by ranks that are threads.
static std::atomic<bool> stepDone{false}, lostRank{false}, refused{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void noteStepDone() { stepDone = true; }

void noteLostRank() { lostRank = true; }

static bool isRefusal(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
  case StatusCode::Cancelled:
  case StatusCode::DeadlineExceeded:
  case StatusCode::Internal:
    return false;
  case StatusCode::InvalidArgument:
    return true;
  case StatusCode::NotFound:
  case StatusCode::Corrupt:
  case StatusCode::Unsupported:
  case StatusCode::ResourceExhausted:
  case StatusCode::IoError:
    return !stepDone;
  }
  return false;
}

void noteRefusal(const Status &why) {
  if (!lostRank && isRefusal(why.code()))
    refused = true;
}

void noteNoMemory() noexcept { refused = refused || !stepDone; }

int failureCode() noexcept {
  return refused && std::getenv(kSupervised) ? kExitRefused : kExitFailed;
}

} // namespace zc
