// Where the time of a run goes: by kind of operator, and as a trace.
#ifndef ZC_RUNTIME_DRIVER_PROFILE_H
#define ZC_RUNTIME_DRIVER_PROFILE_H

#include "runtime/Base/File.h"
#include "runtime/Comm/World.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/Observer.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zc {

/// The train operators of an instruction, out of its label: "train.add+mul".
std::string operatorsOf(const plan::Instruction &instruction);

/// Time per kind of operator, for a table. Times are those of the whole run,
/// rates those of each instruction's fastest execution: the first ones also
/// wait for memory that nobody touched before.
class Profile : public InstructionObserver {
public:
  /// What rates are compared with: the best of all measurements, and of the
  /// run's own products.
  void addLimits(const DeviceLimits &measured);

  void ran(const plan::Program &program, const plan::Instruction &instruction,
           Clock::time_point begin, Clock::time_point end) override;

  /// The table, most time first.
  std::string print();

private:
  struct Row {
    int64_t count = 0;
    double seconds = 0;
    /// Fastest execution of each of its instructions.
    std::map<const plan::Instruction *, double> fastest;
  };
  std::string printRow(const Row &row) const;
  void addOwnProducts();

  DeviceLimits limits;
  std::map<std::string, Row> rows; // "matmul train.matmul"
};

/// A trace that Chrome and Perfetto show: one track per stream and rank. Events
/// are kept until the end in a buffer of fixed size; later ones are dropped and
/// counted.
class Trace : public InstructionObserver {
public:
  /// Fails where the file could not be written in the end; the first rank
  /// writes it for all.
  static Result<std::unique_ptr<Trace>> open(const std::string &path, int rank);

  void ran(const plan::Program &program, const plan::Instruction &instruction,
           Clock::time_point begin, Clock::time_point end) override;

  /// Gathers the events of all ranks and writes the file.
  Status finish(World &world);
  uint64_t dropped() const { return theDropped; }

private:
  struct Event {
    const plan::Program *program;
    const plan::Instruction *instruction;
    Clock::time_point begin, end;
  };

  explicit Trace(int rank);
  Status write(const std::string &event);
  std::string print() const;

  std::optional<AtomicFile> file; // of the first rank
  int rank;
  Clock::time_point start;
  std::vector<Event> events;
  uint64_t theDropped = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_PROFILE_H
