// Shows a run's progress: a line that renews itself on a terminal, otherwise
// plain lines; a summary at the end.
#ifndef ZC_RUNTIME_DRIVER_PROGRESS_H
#define ZC_RUNTIME_DRIVER_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace zc {

struct ProgressOptions {
  int64_t firstStep = 1, totalSteps = 1;
  int64_t every = 0;           // steps between lines; 0: as time goes by
  double mostSeconds = 0;      // that a run may take from its start; 0: any
  double epochsPerStep = 0;    // 0: epochs are not told
  int64_t samplesPerStep = 1;  // of all ranks
  int64_t tokensPerSample = 0; // 0: samples are no tokens
  std::FILE *stream = stdout;  // where lines go
  bool quiet = false;          // the summary alone
  bool silent = false;         // nothing at all, as befits all ranks but one
};

class Progress {
public:
  explicit Progress(const ProgressOptions &options);

  /// After each step, which counts from 1.
  void step(int64_t step, double loss, double learningRate);

  /// A line of its own, whatever the line in progress; unless quiet.
  void note(const std::string &text);
  /// The last line; also when quiet.
  void summarize(const std::string &text);

private:
  using Clock = std::chrono::steady_clock;
  bool isDue(int64_t step, Clock::time_point now) const;
  void print(int64_t step, double learningRate, Clock::time_point now);
  void printLine(const std::string &text);

  const ProgressOptions options;
  const bool terminal;
  Clock::time_point start, lastDrawn;
  // Since the last line.
  int64_t spanSteps = 0;
  double spanLoss = 0;
};

/// "1h 02m 03s", "12.3 s".
std::string printDuration(double seconds);

/// "512 B", "3.4 MiB", "1.2 GiB".
std::string printBytes(uint64_t bytes);

/// Four digits of a number, "0.1234".
std::string printFigure(double value);

/// "123.4 samples/s", and tokens where samples are such.
std::string printRate(double samplesPerSecond, int64_t tokensPerSample);

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_PROGRESS_H
