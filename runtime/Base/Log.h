// Messages for people, on stderr; the results of a run go elsewhere.
#ifndef ZC_RUNTIME_BASE_LOG_H
#define ZC_RUNTIME_BASE_LOG_H

#include <string>

namespace zc {

/// Prints "zc-run: note: message".
void logNote(const std::string &message);

/// Prints "zc-run: warning: message".
void logWarning(const std::string &message);

/// Prints "zc-run: error: message".
void logError(const std::string &message);

} // namespace zc

#endif // ZC_RUNTIME_BASE_LOG_H
