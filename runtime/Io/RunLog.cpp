#include "runtime/Io/RunLog.h"
#include "runtime/Base/File.h"

#include <charconv>
#include <cmath>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace zc {

template <typename T> static std::string shortest(T value) {
  if (std::isnan(value)) // without its sign, which says nothing
    return "nan";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  assert(error == std::errc() && "64 characters hold any number");
  return std::string(buffer, end);
}

std::string exactDecimal(float value) { return shortest(value); }
std::string exactDecimal(double value) { return shortest(value); }

/// JSON has no infinity and no NaN.
static std::string toJson(double value) {
  return std::isfinite(value) ? exactDecimal(value) : "null";
}

/// The "step" of a line, or nothing when the line is another's.
static std::optional<int64_t> stepOf(std::string_view line) {
  auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step") ||
      !json["step"].is_number_integer())
    return std::nullopt;
  return json["step"].get<int64_t>();
}

/// Where the last whole line of a step up to `lastStep` ends.
static size_t endOfStep(std::string_view text, int64_t lastStep) {
  size_t end = text.rfind('\n') + 1; // npos + 1 is 0
  while (end > 0) {
    size_t begin = end > 1 ? text.rfind('\n', end - 2) + 1 : 0;
    std::optional<int64_t> step = stepOf(text.substr(begin, end - begin));
    if (!step || *step <= lastStep)
      break;
    end = begin;
  }
  return end;
}

/// Opens for writing alone: if opened for reading too, a pipe that no program
/// reads would fill up, and then block the run for ever.
static Result<int> openPipe(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 && errno == ENXIO)
    return makeError(StatusCode::InvalidArgument, "cannot write log '", path,
                     "': it is a pipe that no program reads");
  if (descriptor < 0)
    return errnoError("cannot write log '" + path + "'");
  ::fcntl(descriptor, F_SETFL, O_WRONLY);
  return descriptor;
}

Result<RunLog> RunLog::open(const std::string &path,
                            std::optional<int64_t> resumedAfter) {
  if (path == kStandardOutput) {
    int copy = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
      return errnoError("cannot write the log to standard output");
    return RunLog("standard output", copy);
  }
  ZC_RETURN_IF_ERROR(checkParentExists(path));
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode)) {
    ZC_ASSIGN_OR_RETURN(int pipe, openPipe(path));
    return RunLog(path, pipe);
  }
  int flags = O_RDWR | O_CREAT | O_CLOEXEC | (resumedAfter ? 0 : O_TRUNC);
  int descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor < 0)
    return errnoError("cannot write log '" + path + "'");
  RunLog log(path, descriptor);
  if (resumedAfter && ::fstat(descriptor, &info) == 0 &&
      S_ISREG(info.st_mode)) {
    off_t end;
    {
      ZC_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
      end = static_cast<off_t>(endOfStep(file->bytes(), *resumedAfter));
    }
    // One call: a run that is killed here leaves the old log or the new one.
    if (::ftruncate(descriptor, end) != 0)
      return errnoError("cannot write log '" + path + "'");
    ::lseek(descriptor, end, SEEK_SET);
  }
  return log;
}

RunLog::RunLog(RunLog &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)) {}

RunLog::~RunLog() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status writeOrTakeBack(int descriptor, const std::string &bytes,
                       const std::string &path) {
  off_t before = ::lseek(descriptor, 0, SEEK_CUR);
  Status status = writeAll(descriptor, bytes.data(), bytes.size(), path);
  if (status.ok() || before < 0)
    return status;
  if (::ftruncate(descriptor, before) != 0 ||
      ::lseek(descriptor, before, SEEK_SET) != before)
    return status.withContext("the log now ends in part of a line");
  return status;
}

Status RunLog::writeLine(const std::string &line) {
  return writeOrTakeBack(descriptor, line, path);
}

/// A list of rows for each layer.
static std::string printExperts(const StepRecord &r) {
  std::string text = ", \"moe_overflow\": " + toJson(r.expertOverflow) +
                     ", \"moe_balance\": " + toJson(r.expertBalance) +
                     ", \"moe_tokens\": [";
  for (size_t i = 0; i < r.expertTokens.size(); ++i) {
    const bool isFirst = int64_t(i) % r.experts == 0;
    text += std::string(isFirst ? (i ? "], [" : "[") : ", ") +
            toJson(r.expertTokens[i]);
  }
  return text + "]]";
}

static std::string printGradients(const GradientHistogram &histogram) {
  std::string text =
      ", \"gradient_zeros\": " + toJson(histogram.zeros) +
      ", \"gradient_below_fp16\": " + toJson(histogram.lostInHalves) +
      ", \"gradient_not_finite\": " + toJson(histogram.notFinite) +
      ", \"gradient_counts\": [";
  for (size_t i = 0; i < histogram.counts.size(); ++i)
    text += (i ? ", " : "") + toJson(histogram.counts[i]);
  return text + "]";
}

Status RunLog::write(const StepRecord &r) {
  std::string line = "{\"step\": " + std::to_string(r.step) +
                     ", \"loss\": " + r.loss +
                     ", \"lr\": " + exactDecimal(r.lr);
  if (r.perplexity)
    line += ", \"perplexity\": " + toJson(*r.perplexity);
  if (r.gradNorm)
    line += ", \"grad_norm\": " + *r.gradNorm;
  line += ", \"step_ms\": " + exactDecimal(r.stepMs) +
          ", \"samples_per_s\": " + exactDecimal(r.samplesPerSecond);
  if (r.tokensPerSecond)
    line += ", \"tokens_per_s\": " + exactDecimal(*r.tokensPerSecond);
  if (!r.expertTokens.empty() && r.experts > 0)
    line += printExperts(r);
  if (r.gradients)
    line += printGradients(*r.gradients);
  line += ", \"peak_bytes\": " + std::to_string(r.peakBytes) +
          ", \"sent_bytes\": " + std::to_string(r.sentBytes) + "}\n";
  return writeLine(line);
}

Status RunLog::write(const EvaluationRecord &r) {
  std::string line = "{\"step\": " + std::to_string(r.step) +
                     ", \"eval_loss\": " + toJson(r.loss);
  if (r.accuracy)
    line += ", \"eval_accuracy\": " + toJson(*r.accuracy);
  for (const auto &[name, value] : r.metrics)
    line += ", \"eval_" + name + "\": " + toJson(value);
  return writeLine(line + "}\n");
}

} // namespace zc
