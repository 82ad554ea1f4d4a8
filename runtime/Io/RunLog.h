// The log of a run: one JSON object a line, floats that read back exactly.
#ifndef ZC_RUNTIME_IO_RUNLOG_H
#define ZC_RUNTIME_IO_RUNLOG_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zc {

/// The shortest decimal that reads back as the same number.
std::string exactDecimal(float value);
std::string exactDecimal(double value);

struct StepRecord {
  int64_t step = 0; // from 1
  std::string loss; // as exactDecimal prints it
  float lr = 0;
  std::optional<std::string> gradNorm; // "null" where it is no number
  std::optional<double> perplexity;    // where it was asked for
  double stepMs = 0, samplesPerSecond = 0;
  std::optional<double> tokensPerSecond; // of data that are tokens
  uint64_t peakBytes = 0, sentBytes = 0;
  // Models with experts: the rows that chose each, layer by layer; the most as
  // a multiple of an even share; the rows that found no room.
  std::vector<double> expertTokens; // empty: there are none
  int64_t experts = 0;              // of a layer
  double expertBalance = 1, expertOverflow = 0;
};

struct EvaluationRecord {
  int64_t step = 0;
  double loss = 0;
  std::optional<double> accuracy;
  std::vector<std::pair<std::string, double>> metrics; // besides, as asked for
};

/// The name of standard output in `--log -`.
constexpr const char *kStandardOutput = "-";

/// Writes all bytes, or takes back what was written of them.
Status writeOrTakeBack(int descriptor, const std::string &bytes,
                       const std::string &path);

class RunLog {
public:
  /// Replaces the file or, with a step, goes on after the lines of the steps up
  /// to that one: later lines, of steps that are taken once more, are cut off,
  /// and so is a line that a killed run left without its end.
  static Result<RunLog> open(const std::string &path,
                             std::optional<int64_t> resumedAfter);
  RunLog(RunLog &&other) noexcept;
  RunLog &operator=(RunLog &&) = delete;
  ~RunLog();

  Status write(const StepRecord &record);
  Status write(const EvaluationRecord &record);

private:
  RunLog(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}
  Status writeLine(const std::string &line);

  std::string path;
  int descriptor;
};

} // namespace zc

#endif // ZC_RUNTIME_IO_RUNLOG_H
