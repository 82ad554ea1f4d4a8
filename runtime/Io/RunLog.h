// The log of a run: one JSON object a line, floats that read back exactly.
#ifndef ZC_RUNTIME_IO_RUNLOG_H
#define ZC_RUNTIME_IO_RUNLOG_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zc {

/// The shortest decimal that reads back as the same number.
std::string exactDecimal(float value);
std::string exactDecimal(double value);

/// How large elements of gradients are: of each class of magnitudes from
/// 2^exponents[i - 1] to 2^exponents[i], the first of them of zeros and the
/// last without an end, how many there are.
struct GradientHistogram {
  std::vector<int> exponents;
  std::vector<double> counts; // one more than exponents
  double zeros = 0;           // as a share of those
  double lostInHalves = 0;    // likewise: not 0, but below 2^-24
  double notFinite = 0;       // elements of no class: infinite, or no number

  /// Made of the numbers below 2^edges[i], below infinity and, last, of those
  /// that are not.
  template <typename Edges>
  static GradientHistogram of(const std::vector<double> &below,
                              const Edges &edges) {
    GradientHistogram found;
    const size_t classes = below.size() - 1;
    const double all = below[classes - 1] > 0 ? below[classes - 1] : 1;
    found.notFinite = below.back();
    for (size_t i = 0; i < classes; ++i)
      found.counts.push_back(below[i] - (i > 0 ? below[i - 1] : 0));
    for (size_t i = 0; i < std::size(edges); ++i) {
      found.exponents.push_back(edges[i]);
      if (edges[i] == -24)
        found.lostInHalves = (below[i] - below[0]) / all;
    }
    found.zeros = below[0] / all;
    return found;
  }
};

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
  std::optional<GradientHistogram> gradients; // where they are counted
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
