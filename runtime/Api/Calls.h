// How functions of zc.h come to what a handle stands for, and back. Nothing is
// thrown beyond them.
#ifndef ZC_RUNTIME_API_CALLS_H
#define ZC_RUNTIME_API_CALLS_H

#include "runtime/Api/Handle.h"

#include <new>

namespace zc {

inline constexpr const char *kNoSession = "there is no session";
inline constexpr const char *kNotOpen = "the session was not opened";

inline zc_status toC(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return ZC_OK;
  case StatusCode::InvalidArgument:
    return ZC_INVALID_ARGUMENT;
  case StatusCode::NotFound:
    return ZC_NOT_FOUND;
  case StatusCode::Corrupt:
    return ZC_CORRUPT;
  case StatusCode::Unsupported:
    return ZC_UNSUPPORTED;
  case StatusCode::ResourceExhausted:
    return ZC_RESOURCE_EXHAUSTED;
  case StatusCode::IoError:
    return ZC_IO_ERROR;
  case StatusCode::DeadlineExceeded:
    return ZC_DEADLINE_EXCEEDED;
  case StatusCode::Cancelled:
    return ZC_CANCELLED;
  case StatusCode::Internal:
    return ZC_INTERNAL;
  }
  return ZC_INTERNAL;
}

/// Keeps other calls out of a session while one is under way.
class HandleTurn {
public:
  explicit HandleTurn(zc_session &session)
      : session(session), isMine(!session.busy.exchange(true)) {}
  ~HandleTurn() {
    if (isMine)
      session.busy = false;
  }
  HandleTurn(const HandleTurn &) = delete;
  bool isTaken() const { return !isMine; }

private:
  zc_session &session;
  const bool isMine;
};

/// Runs `body` and turns its exceptions into a status code; `text` gets the
/// message of a Status that is no success.
template <typename Body>
zc_status contain(std::string &text, const Body &body) noexcept {
  try {
    try {
      Status status = body();
      if (!status.ok())
        text = status.message();
      return toC(status.code());
    } catch (const std::bad_alloc &) {
      text = "out of memory";
      return ZC_RESOURCE_EXHAUSTED;
    } catch (const std::exception &error) {
      text = std::string("internal error: ") + error.what();
      return ZC_INTERNAL;
    }
  } catch (...) { // of something else, or no memory for the text
    return ZC_INTERNAL;
  }
}

/// Runs `body` on what the handle stands for.
template <typename Body>
zc_status call(zc_session *session, const Body &body) noexcept {
  if (!session)
    return ZC_INVALID_ARGUMENT;
  HandleTurn turn(*session);
  if (turn.isTaken())
    return ZC_BUSY;
  return contain(session->error, [&]() -> Status {
    if (!session->body)
      return Status(StatusCode::InvalidArgument, kNotOpen);
    return body(*session->body);
  });
}

inline Status checkGiven(const void *pointer, const char *what) {
  return pointer ? Status()
                 : makeError(StatusCode::InvalidArgument, what, " is NULL");
}

/// Writes the fields that the caller's version has.
Status fill(zc_tensor_info *info, const zc_tensor_info &full);
Status fillFrom(zc_tensor_info *info, const NamedTensor &tensor,
                zc_tensor_kind kind);

/// The list's element; fails where it has not so many.
template <typename List>
Result<const typename List::value_type *> at(const List &list, size_t index) {
  if (index >= list.size())
    return makeError(StatusCode::NotFound, "there is no number ", index,
                     "; there are ", list.size());
  return &list[index];
}

} // namespace zc

#endif // ZC_RUNTIME_API_CALLS_H
