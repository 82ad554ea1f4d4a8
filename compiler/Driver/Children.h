// Work in processes of its own, several at once: what fails, runs out of memory
// or writes messages there does no harm here.
#ifndef ZC_COMPILER_DRIVER_CHILDREN_H
#define ZC_COMPILER_DRIVER_CHILDREN_H

#include <functional>
#include <string>

namespace zc {

/// The outcome of one piece of work.
struct ChildResult {
  bool ended = false; // with exit code 0
  std::string text;   // that the work returned, or what it has said on stderr
  int signal = 0;     // that has ended it

  /// Why work has failed, in one line, which is never empty: the first error
  /// that it has said, without "zc: error: ", else its first line.
  std::string reason() const;
};

/// Runs pieces 0, 1, ... `count` - 1 in children, `atOnce` of them at a time,
/// and hands over each result as it comes. No piece begins after `seconds`, but
/// the first `atLeast` do in any case. Threads must not be running.
void runInChildren(size_t count, size_t atOnce, double seconds, size_t atLeast,
                   const std::function<std::string(size_t piece)> &work,
                   const std::function<void(size_t piece, ChildResult)> &take);

} // namespace zc

#endif
