#include "runtime/Driver/Progress.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace zc {

// On a terminal, as often as an eye can follow; in a file, at most this often.
static constexpr std::chrono::milliseconds kRedraw(100);
static constexpr int64_t kMaxLines = 100;

Progress::Progress(int64_t firstStep, int64_t totalSteps, bool quiet)
    : start(std::chrono::steady_clock::now()), firstStep(firstStep),
      totalSteps(totalSteps),
      interval(std::max<int64_t>(1, (totalSteps - firstStep + kMaxLines) /
                                        kMaxLines)),
      quiet(quiet), terminal(::isatty(STDOUT_FILENO)) {}

void Progress::step(int64_t step, const std::string &loss,
                    double samplesPerSecond) {
  if (quiet)
    return;
  auto now = std::chrono::steady_clock::now();
  bool edge = step == firstStep || step == totalSteps;
  if (terminal ? !edge && now - lastDrawn < kRedraw
               : !edge && step % interval != 0)
    return;
  lastDrawn = now;
  double elapsed = std::chrono::duration<double>(now - start).count();
  double left =
      elapsed / double(step - firstStep + 1) * double(totalSteps - step);
  std::printf("%sstep %lld/%lld  loss %s  %.1f samples/s  %s left%s",
              terminal ? "\r\033[K" : "", (long long)step,
              (long long)totalSteps, loss.c_str(), samplesPerSecond,
              printDuration(left).c_str(), terminal ? "" : "\n");
  std::fflush(stdout);
  drawn = terminal;
}

void Progress::clearLine() {
  if (drawn)
    std::printf("\n");
  drawn = false;
}

void Progress::note(const std::string &text) {
  if (quiet)
    return;
  clearLine();
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

std::string printDuration(double seconds) {
  char text[64];
  if (seconds < 60) {
    std::snprintf(text, sizeof(text), "%.1f s", seconds);
    return text;
  }
  long long whole = static_cast<long long>(seconds);
  if (whole < 3600)
    std::snprintf(text, sizeof(text), "%lldm %02llds", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof(text), "%lldh %02lldm %02llds", whole / 3600,
                  whole / 60 % 60, whole % 60);
  return text;
}

std::string printBytes(uint64_t bytes) {
  char text[64];
  if (bytes < 1024)
    std::snprintf(text, sizeof(text), "%llu B", (unsigned long long)bytes);
  else if (bytes < (1ull << 30))
    std::snprintf(text, sizeof(text), "%.1f MiB", double(bytes) / (1 << 20));
  else
    std::snprintf(text, sizeof(text), "%.2f GiB", double(bytes) / (1 << 30));
  return text;
}

} // namespace zc
