#include "runtime/Driver/Progress.h"
#include "runtime/Base/Log.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace zc {

// On a terminal, as often as an eye can follow. In a file, so that a short run
// leaves few lines and a long one is seen to go on: up to kLines over all of
// it, and one every half minute.
static constexpr std::chrono::milliseconds kRedraw(100);
static constexpr std::chrono::seconds kShortest(1), kLongest(30);
static constexpr int64_t kLines = 10;

Progress::Progress(const ProgressOptions &options)
    : options(options), terminal(::isatty(::fileno(options.stream))),
      start(Clock::now()), lastDrawn(start) {}

bool Progress::isDue(int64_t step, Clock::time_point now) const {
  if (step == options.firstStep || step == options.totalSteps)
    return true;
  const Clock::duration past = now - lastDrawn;
  if (options.every > 0)
    return step % options.every == 0;
  if (terminal)
    return past >= kRedraw;
  const int64_t share =
      std::max<int64_t>(1, (options.totalSteps - options.firstStep) / kLines);
  return past >= kLongest || (past >= kShortest && spanSteps >= share);
}

void Progress::step(int64_t step, double loss, double learningRate) {
  if (options.quiet || options.silent)
    return;
  ++spanSteps;
  spanLoss += loss;
  Clock::time_point now = Clock::now();
  if (isDue(step, now))
    print(step, learningRate, now);
}

void Progress::print(int64_t step, double learningRate, Clock::time_point now) {
  auto secondsFrom = [&](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  std::string line =
      "step " + std::to_string(step) + "/" + std::to_string(options.totalSteps);
  if (options.epochsPerStep > 0) {
    char epochs[64];
    std::snprintf(epochs, sizeof(epochs), "  epoch %.2f/%.2f",
                  double(step) * options.epochsPerStep,
                  double(options.totalSteps) * options.epochsPerStep);
    line += epochs;
  }
  line += "  loss " + printFigure(spanLoss / double(spanSteps)) + "  lr " +
          printFigure(learningRate);
  const double span = secondsFrom(lastDrawn);
  if (span > 0)
    line += "  " + printRate(double(spanSteps * options.samplesPerStep) / span,
                             options.tokensPerSample);
  const double past = secondsFrom(start);
  double left = past / double(step - options.firstStep + 1) *
                double(options.totalSteps - step);
  if (options.mostSeconds > 0)
    left = std::clamp(options.mostSeconds - past, 0.0, left);
  line += "  " + printDuration(left) + " left";
  std::fprintf(options.stream, "%s%s%s", terminal ? "\r\033[K" : "",
               line.c_str(), terminal ? "" : "\n");
  std::fflush(options.stream);
  if (terminal)
    setOpenLine(options.stream);
  lastDrawn = now;
  spanSteps = 0;
  spanLoss = 0;
}

void Progress::printLine(const std::string &text) {
  endOpenLine();
  std::fprintf(options.stream, "%s\n", text.c_str());
  std::fflush(options.stream);
}

void Progress::note(const std::string &text) {
  if (!options.quiet && !options.silent)
    printLine(text);
}

void Progress::summarize(const std::string &text) {
  if (!options.silent)
    printLine(text);
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

std::string printFigure(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string printRate(double samplesPerSecond, int64_t tokensPerSample) {
  char text[96];
  if (tokensPerSample > 0)
    std::snprintf(text, sizeof(text), "%.1f samples/s, %.0f tokens/s",
                  samplesPerSecond, samplesPerSecond * double(tokensPerSample));
  else
    std::snprintf(text, sizeof(text), "%.1f samples/s", samplesPerSecond);
  return text;
}

} // namespace zc
