// Instructions that were timed on a device, and what others like them take.
#ifndef ZC_RUNTIME_SIMULATE_MEASUREDTIMES_H
#define ZC_RUNTIME_SIMULATE_MEASUREDTIMES_H

#include "runtime/Plan/InstructionKind.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zc {

/// An instruction that was timed. Products are in MatmulEfficiency.
struct MeasuredInstruction {
  std::string kind;      // as plan::Instruction calls it: "kernel"
  std::string operators; // the first word of its label: "train.add+gelu"
  double flops = 0, bytes = 0;
  double seconds = 0;
  /// Sizes that its rate depends on: of a library call kernels::CallWork::form,
  /// of a kernel, one: how long its rows are. Instructions of one kind have
  /// equally many, or none.
  std::vector<int64_t> form = {};
};

/// Kernels of equal operators do equal work for each byte, so that their time
/// grows with their size. The time of calls of equal form grows with how many
/// equal parts they have, and that of other forms follows a law of their sizes
/// (FormLaw.h). Where no kernel of just these operators was timed,
/// the kernels count that share most of them and are about as large.
class MeasuredTimes {
public:
  void add(const MeasuredInstruction &row);
  bool empty() const { return byKind.empty(); }

  /// Seconds of an instruction like this one, whose own do not count, or
  /// nothing where no instruction of its kind was timed.
  std::optional<double> find(const MeasuredInstruction &asked) const;

private:
  struct Operators {
    std::set<std::string> parts; // "add", "gelu"
    std::vector<MeasuredInstruction> rows;
  };
  std::map<std::string, std::map<std::string, Operators>> byKind;
};

/// The operators that an instruction's label begins with, "train.add+mul".
std::string operatorsOfLabel(const std::string &label);

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_MEASUREDTIMES_H
