// Messages of signal handlers.
#ifndef ZC_RUNTIME_BASE_HANDLERTEXT_H
#define ZC_RUNTIME_BASE_HANDLERTEXT_H

#include <cstddef>
#include <unistd.h>

namespace zc {

/// A line put together without memory from the heap, as handlers must.
class HandlerText {
public:
  HandlerText &operator<<(const char *part) {
    for (; *part && size < sizeof(text) - 1; ++part)
      text[size++] = *part;
    return *this;
  }
  /// On stderr, by one write.
  void print() {
    text[size++] = '\n';
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, size);
  }

private:
  char text[9216]; // two paths and some words
  size_t size = 0;
};

/// Whether a terminal's line has no end yet (setOpenLine() in Log.h), which the
/// caller's text begins with.
bool takeOpenLine() noexcept;

} // namespace zc

#endif // ZC_RUNTIME_BASE_HANDLERTEXT_H
