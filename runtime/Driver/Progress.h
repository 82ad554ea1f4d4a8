// What a user sees of a run: a line that renews itself on a terminal, otherwise
// plain lines; a summary at the end.
#ifndef ZC_RUNTIME_DRIVER_PROGRESS_H
#define ZC_RUNTIME_DRIVER_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace zc {

class Progress {
public:
  /// `quiet`: prints nothing, as befits all ranks but one.
  Progress(int64_t firstStep, int64_t totalSteps, bool quiet);

  /// After each step, which counts from 1.
  void step(int64_t step, const std::string &loss, double samplesPerSecond);

  /// A line of its own, whatever the line in progress.
  void note(const std::string &text);

private:
  void clearLine();

  std::chrono::steady_clock::time_point start, lastDrawn;
  int64_t firstStep, totalSteps, interval;
  bool quiet, terminal, drawn = false;
};

/// "1h 02m 03s", "12.3 s".
std::string printDuration(double seconds);

/// "512 B", "3.4 MiB", "1.2 GiB".
std::string printBytes(uint64_t bytes);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_PROGRESS_H
