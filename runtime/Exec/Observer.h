// Who wants to know when instructions run: traces and profiles.
#ifndef ZC_RUNTIME_EXEC_OBSERVER_H
#define ZC_RUNTIME_EXEC_OBSERVER_H

#include "runtime/Plan/Manifest.pb.h"

#include <chrono>
#include <string>

namespace zc {

/// What kind of work an instruction is, as the schema calls it: "kernel",
/// "matmul".
std::string kindOf(const plan::Instruction &instruction);

class InstructionObserver {
public:
  using Clock = std::chrono::steady_clock;
  virtual ~InstructionObserver() = default;

  /// After each instruction of a program, with when it began and ended.
  virtual void ran(const plan::Program &program,
                   const plan::Instruction &instruction,
                   Clock::time_point begin, Clock::time_point end) = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_OBSERVER_H
