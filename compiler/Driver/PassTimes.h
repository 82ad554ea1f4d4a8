// Where a compilation's time goes: what -v prints in the end.
#ifndef ZC_COMPILER_DRIVER_PASSTIMES_H
#define ZC_COMPILER_DRIVER_PASSTIMES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace zc {

/// Seconds by the name of a pass, or of work that is none. Passes on functions
/// run side by side, so the sum may be more than has passed.
class PassTimes {
public:
  void add(llvm::StringRef name, double seconds);

  /// The longest first, with shares of `whole` seconds.
  void print(llvm::raw_ostream &out, double whole) const;

private:
  struct Entry {
    double seconds = 0;
    unsigned runs = 0;
  };

  mutable std::mutex mutex;
  std::map<std::string, Entry> entries;
};

/// Adds the time from here to the end of its scope.
class ScopedTime {
public:
  ScopedTime(PassTimes &times, llvm::StringRef name)
      : times(times), name(name), begin(std::chrono::steady_clock::now()) {}
  ~ScopedTime() {
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    times.add(name, seconds.count());
  }
  ScopedTime(const ScopedTime &) = delete;
  ScopedTime &operator=(const ScopedTime &) = delete;

private:
  PassTimes &times;
  llvm::StringRef name;
  std::chrono::steady_clock::time_point begin;
};

} // namespace zc

#endif
