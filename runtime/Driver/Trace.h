// A run as a trace: when instructions, calls and messages began and ended.
#ifndef ZC_RUNTIME_DRIVER_TRACE_H
#define ZC_RUNTIME_DRIVER_TRACE_H

#include "runtime/Base/File.h"
#include "runtime/Exec/Executor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zc {

/// The steps that a trace shows, both included.
struct TraceWindow {
  int64_t first = 1, last = INT64_MAX;
};

/// A trace that Chrome and Perfetto show: one track per stream and rank, and
/// one of the order of a role of a pipeline: its calls, what it waits for, and
/// its messages from when they began until this rank saw their end. Tracks
/// beside them show where steps begin and end, and when samples are read and
/// fed, checkpoints written and held-out samples evaluated. Events are kept
/// until the end in a buffer of fixed size; later ones are dropped and counted.
class Trace : public OrderObserver {
public:
  /// Fails where the file could not be written in the end; the first rank
  /// writes it for all.
  static Result<std::unique_ptr<Trace>>
  open(const std::string &path, Executor &executor, TraceWindow window);

  /// Tracks beside those of the streams.
  enum class Lane { Steps, Data, Checkpoints, Evaluation };

  /// Events from here on until the next call belong to this step, from 1.
  void beginStep(int64_t step);
  /// Adds an action of this rank to a lane; "read samples".
  void did(Lane lane, const std::string &what, Clock::time_point begin,
           Clock::time_point end);

  void ran(const plan::Program &program, const plan::Instruction &instruction,
           Clock::time_point begin, Clock::time_point end) override;
  void called(const plan::Program &program, const plan::Call &call,
              Clock::time_point begin, Clock::time_point end) override;
  void moved(const plan::Message &message, const plan::Move &move,
             const MessageTimes &times) override;

  /// Gathers the events of all ranks and writes the file.
  Status finish(World &world);
  uint64_t dropped() const { return theDropped; }

private:
  struct Event {
    const plan::Program *program;
    const plan::Instruction *instruction;
    Clock::time_point begin, end;
  };
  /// A call or a message of the order.
  struct Action {
    const plan::Program *program; // null of a message
    const plan::Message *message; // null of a call
    uint32_t microBatch;
    MessageTimes times; // a call has not waited
  };

  struct Span {
    Lane lane;
    std::string what;
    Clock::time_point begin, end;
  };

  Trace(int rank, std::string name, TraceWindow window);
  Status write(const std::string &event);
  bool hasRoom();
  double microseconds(Clock::time_point time) const;
  std::string print() const;
  std::string printInstructions() const;
  std::string printOrder() const;
  std::string printSpans() const;

  std::optional<AtomicFile> file; // of the first rank
  int rank;
  std::string name; // of the rank
  Clock::time_point start;
  std::vector<Event> events;
  std::vector<Action> actions;
  std::vector<Span> spans;
  TraceWindow window;
  bool isOn = false; // the step is in the window
  uint64_t theDropped = 0;
};

/// Adds to the trace, if there is one, the time until the end of a scope.
class TracedSpan {
public:
  TracedSpan(Trace *trace, Trace::Lane lane, std::string what)
      : trace(trace), lane(lane), what(std::move(what)),
        begin(Trace::Clock::now()) {}
  ~TracedSpan() {
    if (trace)
      trace->did(lane, what, begin, Trace::Clock::now());
  }
  TracedSpan(const TracedSpan &) = delete;
  TracedSpan &operator=(const TracedSpan &) = delete;

private:
  Trace *trace;
  Trace::Lane lane;
  std::string what;
  Trace::Clock::time_point begin;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_TRACE_H
