// Observers are told when instructions run and messages move: traces and
// profiles.
#ifndef ZC_RUNTIME_EXEC_OBSERVER_H
#define ZC_RUNTIME_EXEC_OBSERVER_H

#include "runtime/Plan/Manifest.pb.h"

#include <chrono>

namespace zc {

class InstructionObserver {
public:
  using Clock = std::chrono::steady_clock;
  virtual ~InstructionObserver() = default;

  /// After each instruction of a program, with when it began and ended.
  virtual void ran(const plan::Program &program,
                   const plan::Instruction &instruction,
                   Clock::time_point begin, Clock::time_point end) = 0;
};

/// A message of an order: when it began, when this rank had nothing to do but
/// wait for its end, and when it ended, as far as this rank looked. Both ends
/// count for themselves.
struct MessageTimes {
  InstructionObserver::Clock::time_point began, waited, ended;
};

/// Also sees what an order does. A role without messages shows nothing of its
/// order, which its instructions tell.
class OrderObserver : public InstructionObserver {
public:
  /// After each call, with when it began and ended.
  virtual void called(const plan::Program &program, const plan::Call &call,
                      Clock::time_point begin, Clock::time_point end) = 0;
  /// After each message's end.
  virtual void moved(const plan::Message &message, const plan::Move &move,
                     const MessageTimes &times) = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_OBSERVER_H
