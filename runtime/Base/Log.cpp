#include "runtime/Base/Log.h"
#include "runtime/Base/HandlerText.h"

#include <atomic>
#include <unistd.h>

namespace zc {

static std::atomic<std::FILE *> openLine = nullptr;
static_assert(std::atomic<std::FILE *>::is_always_lock_free);

void setOpenLine(std::FILE *stream) { openLine = stream; }

bool takeOpenLine() noexcept { return openLine.exchange(nullptr) != nullptr; }

void endOpenLine() {
  if (std::FILE *stream = openLine.exchange(nullptr)) {
    std::fputc('\n', stream);
    std::fflush(stream);
  }
}

/// One write per message, so that lines of several ranks do not mix.
static void writeLine(const char *kind, const std::string &message) {
  std::string line = std::string("zc-run: ") + kind + ": " + message + "\n";
  endOpenLine();
  // Nobody is left to tell when stderr itself fails.
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, line.data(), line.size());
}

void logNote(const std::string &message) { writeLine("note", message); }
void logWarning(const std::string &message) { writeLine("warning", message); }
void logError(const std::string &message) { writeLine("error", message); }

} // namespace zc
