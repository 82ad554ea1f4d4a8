// Where the time of a run goes, by kind of operator and message.
#ifndef ZC_RUNTIME_DRIVER_PROFILE_H
#define ZC_RUNTIME_DRIVER_PROFILE_H

#include "runtime/Device/Device.h"
#include "runtime/Exec/Observer.h"
#include "runtime/Plan/StepPhases.h"

#include <map>
#include <string>
#include <vector>

namespace zc {

/// The train operators of an instruction, out of its label: "train.add+mul".
std::string operatorsOf(const plan::Instruction &instruction);

/// Time per phase of a step and kind of operator, for a table. Times are those
/// of the whole run, rates those of each instruction's fastest execution: the
/// first ones also wait for memory that nobody touched before. Messages count
/// for as long as this rank did nothing but wait for them.
class Profile : public OrderObserver {
public:
  /// Adds peak rates to compare with: the best of all measurements, and of the
  /// run's own products.
  void addLimits(const DeviceLimits &measured);

  /// Instructions of other ways are told apart.
  void setWays(std::map<const plan::Instruction *, TakenWay> ofCalls) {
    ways = std::move(ofCalls);
  }

  void ran(const plan::Program &program, const plan::Instruction &instruction,
           Clock::time_point begin, Clock::time_point end) override;
  void called(const plan::Program &, const plan::Call &, Clock::time_point,
              Clock::time_point) override {} // its instructions tell
  void moved(const plan::Message &message, const plan::Move &move,
             const MessageTimes &times) override;

  /// The table: forward, backward, optimizer, evaluation and waiting, most time
  /// first. Kinds of less than half a percent share a row.
  std::string print();

private:
  struct Row {
    int64_t count = 0;
    double seconds = 0;
    bool hasFewerProducts = false; // TakenWay
    /// Fastest execution of each of its instructions.
    std::map<const plan::Instruction *, double> fastest;
  };
  /// "backward", "matmul train.matmul".
  using Key = std::pair<std::string, std::string>;
  using NamedRow = std::pair<std::string, const Row *>;

  StepPhase phaseOf(const plan::Program &program,
                    const plan::Instruction &instruction);
  std::string printLine(const NamedRow &named, double total) const;
  std::string printPhase(const std::string &phase, double total) const;
  std::string printRates(const Row &row) const;
  void addOwnProducts();

  DeviceLimits limits;
  std::map<Key, Row> rows;
  std::map<const plan::Instruction *, TakenWay> ways;    // of some
  std::map<const plan::Instruction *, StepPhase> phases; // of seen programs
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_PROFILE_H
