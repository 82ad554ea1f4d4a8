#include "compiler/Driver/Children.h"

#include "compiler/Driver/OwnedProcess.h"
#include "runtime/Base/File.h"

#include "llvm/ADT/StringRef.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace zc;

/// Warnings may stand in front of it.
static llvm::StringRef findError(llvm::StringRef text) {
  const llvm::StringRef first = text.ltrim('\n').split('\n').first;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.consume_front("zc: error: "))
      return line;
    text = rest;
  }
  return first;
}

std::string ChildResult::reason() const {
  const std::string error = findError(text).str();
  if (signal != 0)
    return "ended by signal " + std::to_string(signal) +
           (error.empty() ? "" : ": " + error);
  return error.empty() ? "its process ended early" : error;
}

namespace {

struct Child {
  size_t piece;
  pid_t process;
  int result, messages; // to be read
  std::string resultText, messageText;
};

/// Whether there was anything; false: the other end is closed.
bool readSome(int file, std::string &text) {
  char buffer[4096];
  const ssize_t got = read(file, buffer, sizeof(buffer));
  if (got > 0)
    text.append(buffer, size_t(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

bool startChild(size_t piece, const std::function<std::string(size_t)> &work,
                std::vector<Child> &children) {
  int result[2], messages[2];
  if (pipe(result) != 0)
    return false;
  if (pipe(messages) != 0) {
    close(result[0]), close(result[1]);
    return false;
  }
  const pid_t process = forkOwned();
  if (process == 0) {
    close(result[0]), close(messages[0]);
    dup2(messages[1], STDERR_FILENO);
    std::signal(SIGINT, SIG_DFL);
    const std::string text = work(piece);
    (void)writeAll(result[1], text.data(), text.size(), "");
    _exit(0);
  }
  close(result[1]), close(messages[1]);
  if (process < 0) {
    close(result[0]), close(messages[0]);
    return false;
  }
  children.push_back({piece, process, result[0], messages[0], "", ""});
  return true;
}

/// Reads what children have written, until one of them has ended.
Child awaitOne(std::vector<Child> &children) {
  while (true) {
    std::vector<pollfd> files;
    for (const Child &child : children) {
      files.push_back({child.result, POLLIN, 0});
      files.push_back({child.messages, POLLIN, 0});
    }
    if (poll(files.data(), files.size(), -1) < 0)
      continue;
    for (size_t i = 0; i < children.size(); ++i) {
      Child &child = children[i];
      if (files[2 * i + 1].revents & POLLIN)
        readSome(child.messages, child.messageText);
      if (files[2 * i].revents && !readSome(child.result, child.resultText)) {
        while (readSome(child.messages, child.messageText))
          ;
        Child ended = child;
        children.erase(children.begin() + ptrdiff_t(i));
        return ended;
      }
    }
  }
}

ChildResult endOf(const Child &child) {
  const int status = awaitEnd(child.process);
  close(child.result), close(child.messages);
  ChildResult result;
  result.ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  result.text = result.ended ? child.resultText : child.messageText;
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  return result;
}

} // namespace

void zc::runInChildren(size_t count, size_t atOnce, double seconds,
                       size_t atLeast,
                       const std::function<std::string(size_t)> &work,
                       const std::function<void(size_t, ChildResult)> &take) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  std::vector<Child> children;
  size_t next = 0;
  auto mayBegin = [&] {
    const double passed =
        std::chrono::duration<double>(Clock::now() - began).count();
    return next < count && children.size() < atOnce &&
           (next < atLeast || passed < seconds);
  };
  while (mayBegin() || !children.empty()) {
    while (mayBegin()) {
      if (!startChild(next, work, children))
        take(next, {false, "cannot start a process"});
      ++next;
    }
    if (children.empty())
      continue;
    const Child ended = awaitOne(children);
    take(ended.piece, endOf(ended));
  }
}
