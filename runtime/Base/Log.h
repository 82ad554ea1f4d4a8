// Messages for people, on stderr; the results of a run go elsewhere.
#ifndef ZC_RUNTIME_BASE_LOG_H
#define ZC_RUNTIME_BASE_LOG_H

#include <cstdio>
#include <string>

namespace zc {

/// Prints "zc-run: note: message".
void logNote(const std::string &message);

/// Prints "zc-run: warning: message".
void logWarning(const std::string &message);

/// Prints "zc-run: error: message".
void logError(const std::string &message);

/// A line on a terminal that has no end yet, for more is to come in its place:
/// the next message of any kind ends it first. Null: there is none.
void setOpenLine(std::FILE *stream);

/// Ends such a line.
void endOpenLine();

} // namespace zc

#endif // ZC_RUNTIME_BASE_LOG_H
