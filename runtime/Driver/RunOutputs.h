// The records of a run, to a log and to TensorBoard. Neither ends a run: where
// one cannot be written, the user is told once and the run goes on.
#ifndef ZC_RUNTIME_DRIVER_RUNOUTPUTS_H
#define ZC_RUNTIME_DRIVER_RUNOUTPUTS_H

#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/EventLog.h"
#include "runtime/Io/RunLog.h"

#include <optional>
#include <string>

namespace zc {

class RunOutputs {
public:
  /// Empty names: none. With a step, a log goes on after the lines of it.
  Status open(const std::string &log, const std::string &tensorboard,
              std::optional<int64_t> resumedAfter);
  /// Options of the run and of its artifact, for TensorBoard.
  void writeHyperparameters(const NamedTexts &parameters);

  bool isOff() const { return !log && !events; }
  void write(const StepRecord &record) { writeAll(record); }
  void write(const EvaluationRecord &record) { writeAll(record); }
  /// Says how much is missing, if anything.
  void finish() const;

private:
  /// Records that could not be written.
  struct Loss {
    std::string option; // "--log 'run.jsonl'"
    int64_t records = 0;
  };
  static void note(const Status &written, Loss &loss);

  template <typename Record> void writeAll(const Record &record) {
    if (log)
      note(log->write(record), ofLog);
    if (events)
      note(events->write(record), ofEvents);
  }

  std::optional<RunLog> log;
  std::optional<EventLog> events;
  Loss ofLog, ofEvents;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_RUNOUTPUTS_H
