// How the runtime reports failure: a value with a code and a message that a
// user can act on. No exception crosses a function of the runtime.
#ifndef ZC_RUNTIME_BASE_STATUS_H
#define ZC_RUNTIME_BASE_STATUS_H

#include <cassert>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace zc {

enum class StatusCode {
  Ok,
  InvalidArgument,   // the user's request or data does not fit the artifact
  NotFound,          // a file, entry, symbol or tensor is missing
  Corrupt,           // bytes that are not what they claim to be
  Unsupported,       // well formed, but not for this version or machine
  ResourceExhausted, // memory, disk or a planned bound
  IoError,           // the system refused
  DeadlineExceeded,  // waited longer than allowed
  Cancelled,         // because another rank failed, which tells the user why
  Internal,          // a library failed
};

/// The code's name, for messages and tests.
const char *statusCodeName(StatusCode code);

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : theCode(code), theMessage(std::move(message)) {
    assert(code != StatusCode::Ok && "a failure needs a failing code");
  }

  bool ok() const { return theCode == StatusCode::Ok; }
  StatusCode code() const { return theCode; }
  const std::string &message() const { return theMessage; }

  /// The same failure with "context: " before its message.
  Status withContext(const std::string &context) const {
    return ok() ? *this : Status(theCode, context + ": " + theMessage);
  }

private:
  StatusCode theCode = StatusCode::Ok;
  std::string theMessage;
};

/// A value, or the reason why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : theValue(std::move(value)) {}
  Result(Status status) : theStatus(std::move(status)) {
    assert(!theStatus.ok() && "a result without a value needs a failure");
  }

  bool ok() const { return theValue.has_value(); }
  const Status &status() const { return theStatus; }

  T &operator*() {
    assert(ok());
    return *theValue;
  }
  const T &operator*() const {
    assert(ok());
    return *theValue;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

private:
  Status theStatus;
  std::optional<T> theValue;
};

/// Joins printable parts into a message.
template <typename... Parts> std::string strCat(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// A failure whose message is the parts joined.
template <typename... Parts>
Status makeError(StatusCode code, const Parts &...parts) {
  return Status(code, strCat(parts...));
}

/// "name: why", the why from errno.
Status errnoError(const std::string &what);
Status errnoError(const std::string &what, int error);

} // namespace zc

#define ZC_CONCAT_IMPL(a, b) a##b
#define ZC_CONCAT(a, b) ZC_CONCAT_IMPL(a, b)

/// Returns the failure of `expression`, if it fails.
#define ZC_RETURN_IF_ERROR(expression)                                         \
  do {                                                                         \
    if (::zc::Status zcStatus = (expression); !zcStatus.ok())                  \
      return zcStatus;                                                         \
  } while (false)

/// Declares or assigns `target` from a Result, or returns its failure.
#define ZC_ASSIGN_OR_RETURN(target, expression)                                \
  ZC_ASSIGN_OR_RETURN_IMPL(ZC_CONCAT(zcResult, __LINE__), target, expression)
#define ZC_ASSIGN_OR_RETURN_IMPL(result, target, expression)                   \
  auto result = (expression);                                                  \
  if (!result.ok())                                                            \
    return result.status();                                                    \
  target = std::move(*result)

#endif // ZC_RUNTIME_BASE_STATUS_H
