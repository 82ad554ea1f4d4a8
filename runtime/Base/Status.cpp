#include "runtime/Base/Status.h"

#include <cerrno>
#include <cstring>

namespace zc {

const char *statusCodeName(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return "ok";
  case StatusCode::InvalidArgument:
    return "invalid argument";
  case StatusCode::NotFound:
    return "not found";
  case StatusCode::Corrupt:
    return "corrupt";
  case StatusCode::Unsupported:
    return "unsupported";
  case StatusCode::ResourceExhausted:
    return "resource exhausted";
  case StatusCode::IoError:
    return "i/o error";
  case StatusCode::DeadlineExceeded:
    return "deadline exceeded";
  case StatusCode::Cancelled:
    return "cancelled";
  case StatusCode::Internal:
    return "internal";
  }
  return "unknown";
}

static StatusCode codeOf(int error) {
  switch (error) {
  case ENOENT:
    return StatusCode::NotFound;
  case ENOSPC:
  case EFBIG:
  case EDQUOT:
  case ENOMEM:
    return StatusCode::ResourceExhausted;
  default:
    return StatusCode::IoError;
  }
}

Status errnoError(const std::string &what, int error) {
  return Status(codeOf(error), what + ": " + std::strerror(error));
}

Status errnoError(const std::string &what) { return errnoError(what, errno); }

} // namespace zc
