#include "runtime/Base/Temporaries.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace zc {

// More files than a program writes at once; one that finds no slot would only
// stay behind when a signal ends the program.
static constexpr int kSlots = 256;
static std::atomic<char *> names[kSlots];

TemporaryName::TemporaryName(std::string path) : thePath(std::move(path)) {
  char *copy = ::strdup(thePath.c_str());
  for (int i = 0; copy && i < kSlots; ++i) {
    char *none = nullptr;
    if (names[i].compare_exchange_strong(none, copy)) {
      slot = i;
      return;
    }
  }
  std::free(copy);
}

TemporaryName::TemporaryName(TemporaryName &&other) noexcept
    : thePath(std::exchange(other.thePath, "")),
      slot(std::exchange(other.slot, -1)) {}

TemporaryName::~TemporaryName() {
  if (slot >= 0)
    std::free(names[slot].exchange(nullptr));
}

void removeTemporaries() noexcept {
  // Taken while it is read, for its owner may go meanwhile on another thread.
  for (std::atomic<char *> &name : names)
    if (char *path = name.exchange(nullptr)) {
      ::unlink(path);
      name = path;
    }
}

} // namespace zc
