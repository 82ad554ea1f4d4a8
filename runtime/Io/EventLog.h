// TensorBoard's event files: records of a length, its checksum, an Event
// message and its checksum.
#ifndef ZC_RUNTIME_IO_EVENTLOG_H
#define ZC_RUNTIME_IO_EVENTLOG_H

#include "runtime/Io/RunLog.h"

#include <string_view>
#include <vector>

namespace zc {

/// CRC-32C (Castagnoli), as the format has it before masking.
uint32_t crc32c(std::string_view bytes);

/// A record with its lengths and masked checksums.
std::string makeEventRecord(std::string_view message);

class EventLog {
public:
  /// Begins a file in `folder`, which is made with its parents.
  static Result<EventLog> open(const std::string &folder);
  EventLog(EventLog &&other) noexcept;
  EventLog &operator=(EventLog &&) = delete;
  ~EventLog();

  /// Writes a run's options for TensorBoard's table of runs: numbers as such,
  /// other texts as texts. Its metrics are the losses.
  Status writeHyperparameters(
      const std::vector<std::pair<std::string, std::string>> &parameters);
  Status write(const StepRecord &record);
  Status write(const EvaluationRecord &record);

private:
  using Scalars = std::vector<std::pair<std::string, double>>;

  EventLog(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}
  Status writeScalars(int64_t step, const Scalars &scalars);
  /// `values`: fields of a Summary.
  Status writeSummary(int64_t step, const std::string &values);

  std::string path;
  std::string header; // goes before the first record
  int descriptor;
};

} // namespace zc

#endif // ZC_RUNTIME_IO_EVENTLOG_H
