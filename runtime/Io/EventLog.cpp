#include "runtime/Io/EventLog.h"
#include "runtime/Base/File.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace zc {

namespace {

constexpr uint32_t kPolynomial = 0x82f63b78; // reflected

std::array<uint32_t, 256> makeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ (value & 1 ? kPolynomial : 0);
    table[byte] = value;
  }
  return table;
}

/// So that a checksum of what contains checksums is still a good one.
uint32_t mask(uint32_t sum) { return ((sum >> 15) | (sum << 17)) + 0xa282ead8; }

template <typename T> std::string littleEndian(T value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// Field numbers in protobuf's wire format. Event: 1 wall_time, 2 step, 3
// file_version, 5 summary. Summary: 1 value. Value: 1 tag, 2 simple_value.
enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string field(int number, WireType type, const std::string &payload) {
  std::string bytes = varint(uint64_t(number) << 3 | type);
  if (type == kBytes)
    bytes += varint(payload.size());
  return bytes + payload;
}

std::string wallTime() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return field(1, kFixed64,
               littleEndian(std::chrono::duration<double>(now).count()));
}

std::string makeFileName() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  char host[256] = "localhost";
  ::gethostname(host, sizeof(host) - 1);
  return strCat("events.out.tfevents.",
                std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                ".", host, ".", ::getpid());
}

} // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = makeTable();
  uint32_t sum = ~0u;
  for (unsigned char byte : bytes)
    sum = (sum >> 8) ^ table[(sum ^ byte) & 0xff];
  return ~sum;
}

std::string makeEventRecord(std::string_view message) {
  std::string length = littleEndian<uint64_t>(message.size());
  return length + littleEndian(mask(crc32c(length))) + std::string(message) +
         littleEndian(mask(crc32c(message)));
}

Result<EventLog> EventLog::open(const std::string &folder) {
  ZC_RETURN_IF_ERROR(makeDirectories(folder));
  std::string path = folder + "/" + makeFileName();
  int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return errnoError("cannot write events '" + path + "'");
  EventLog log(path, descriptor);
  log.header = makeEventRecord(wallTime() + field(3, kBytes, "brain.Event:2"));
  return log;
}

EventLog::EventLog(EventLog &&other) noexcept
    : path(std::move(other.path)), header(std::move(other.header)),
      descriptor(std::exchange(other.descriptor, -1)) {}

EventLog::~EventLog() {
  if (descriptor >= 0)
    ::close(descriptor);
}

// TensorBoard's plugin "hparams". Value: 9 metadata; its plugin data: 1 name, 2
// content. The content, HParamsPluginData: 2 experiment, 3 start of a session,
// 4 its end. Experiment: 4 parameters (1 name, 4 type), 5 metrics (1 name (2
// tag)). Start: 1 parameters, a map to values (2 number, 3 text), 5 time. End:
// 1 status, 2 time.
namespace {

constexpr uint64_t kText = 1, kNumber = 3, kSucceeded = 1;

std::optional<double> parseNumber(const std::string &text) {
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nullopt : std::optional(value);
}

std::string secondsNow() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return littleEndian(std::chrono::duration<double>(now).count());
}

std::string pluginValue(const std::string &tag, const std::string &content) {
  const std::string plugin =
      field(1, kBytes, "hparams") + field(2, kBytes, content);
  return field(1, kBytes,
               field(1, kBytes, tag) +
                   field(9, kBytes, field(1, kBytes, plugin)));
}

} // namespace

Status EventLog::writeHyperparameters(
    const std::vector<std::pair<std::string, std::string>> &parameters) {
  std::string experiment, start;
  for (const auto &[name, text] : parameters) {
    const std::optional<double> number = parseNumber(text);
    experiment +=
        field(4, kBytes,
              field(1, kBytes, name) +
                  field(4, kVarint, varint(number ? kNumber : kText)));
    const std::string value = number ? field(2, kFixed64, littleEndian(*number))
                                     : field(3, kBytes, text);
    start += field(1, kBytes, field(1, kBytes, name) + field(2, kBytes, value));
  }
  for (const char *tag : {"loss", "eval_loss"})
    experiment += field(5, kBytes, field(1, kBytes, field(2, kBytes, tag)));
  start += field(5, kFixed64, secondsNow());
  const std::string end =
      field(1, kVarint, varint(kSucceeded)) + field(2, kFixed64, secondsNow());
  return writeSummary(
      0,
      pluginValue("_hparams_/experiment", field(2, kBytes, experiment)) +
          pluginValue("_hparams_/session_start_info", field(3, kBytes, start)) +
          pluginValue("_hparams_/session_end_info", field(4, kBytes, end)));
}

Status EventLog::writeScalars(int64_t step, const Scalars &scalars) {
  std::string summary;
  for (const auto &[tag, value] : scalars)
    summary +=
        field(1, kBytes,
              field(1, kBytes, tag) +
                  field(2, kFixed32, littleEndian(static_cast<float>(value))));
  return writeSummary(step, summary);
}

Status EventLog::writeSummary(int64_t step, const std::string &values) {
  std::string record =
      header +
      makeEventRecord(wallTime() + field(2, kVarint, varint(uint64_t(step))) +
                      field(5, kBytes, values));
  ZC_RETURN_IF_ERROR(writeOrTakeBack(descriptor, record, path));
  header.clear();
  return Status();
}

/// Fields of Value: 1 tag, 5 histogram; of a histogram: 1 the least, 2 the
/// most, 3 how many, 6 the classes' ends, 7 how many of each, both packed. Ends
/// are exponents of two: magnitudes themselves would all stand at 0.
static std::string printHistogram(const GradientHistogram &histogram) {
  // The last class has no end: it is as wide as the one before.
  constexpr int kWidth = 4;
  const double most = histogram.exponents.back() + kWidth;
  std::string ends, counts;
  double all = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    const bool isLast = i == histogram.exponents.size();
    ends += littleEndian(isLast ? most : double(histogram.exponents[i]));
    counts += littleEndian(histogram.counts[i]);
    all += histogram.counts[i];
  }
  const std::string message =
      field(1, kFixed64, littleEndian(double(histogram.exponents.front()))) +
      field(2, kFixed64, littleEndian(most)) +
      field(3, kFixed64, littleEndian(all)) + field(6, kBytes, ends) +
      field(7, kBytes, counts);
  return field(1, kBytes,
               field(1, kBytes, "gradient_exponents") +
                   field(5, kBytes, message));
}

Status EventLog::write(const StepRecord &record) {
  Scalars scalars = {{"loss", std::stod(record.loss)},
                     {"lr", record.lr},
                     {"step_ms", record.stepMs},
                     {"samples_per_s", record.samplesPerSecond}};
  if (record.tokensPerSecond)
    scalars.push_back({"tokens_per_s", *record.tokensPerSecond});
  if (record.perplexity)
    scalars.push_back({"perplexity", *record.perplexity});
  if (record.gradNorm && *record.gradNorm != "null")
    scalars.push_back({"grad_norm", std::stod(*record.gradNorm)});
  if (!record.expertTokens.empty()) {
    scalars.push_back({"moe_overflow", record.expertOverflow});
    scalars.push_back({"moe_balance", record.expertBalance});
  }
  if (record.gradients) {
    scalars.push_back({"gradient_zeros", record.gradients->zeros});
    scalars.push_back({"gradient_below_fp16", record.gradients->lostInHalves});
    scalars.push_back({"gradient_not_finite", record.gradients->notFinite});
    ZC_RETURN_IF_ERROR(
        writeSummary(record.step, printHistogram(*record.gradients)));
  }
  return writeScalars(record.step, scalars);
}

Status EventLog::write(const EvaluationRecord &record) {
  Scalars scalars = {{"eval_loss", record.loss}};
  if (record.accuracy)
    scalars.push_back({"eval_accuracy", *record.accuracy});
  for (const auto &[name, value] : record.metrics)
    scalars.push_back({"eval_" + name, value});
  return writeScalars(record.step, scalars);
}

} // namespace zc
