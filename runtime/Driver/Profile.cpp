#include "runtime/Driver/Profile.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/InstructionKind.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/ProgramNames.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace zc {

static constexpr const char *kEvaluation = "evaluation";
static constexpr const char *kWaiting = "waiting";
/// The share of all time that is worth a row.
static constexpr double kLeastShare = 0.005;

std::string operatorsOf(const plan::Instruction &instruction) {
  const std::string &label = instruction.label();
  return label.substr(0, label.find(' '));
}

StepPhase Profile::phaseOf(const plan::Program &program,
                           const plan::Instruction &instruction) {
  auto found = phases.find(&instruction);
  if (found != phases.end())
    return found->second;
  std::vector<StepPhase> all = phasesOf(program);
  for (size_t i = 0; i < all.size(); ++i)
    phases[&program.instructions(int(i))] = all[i];
  return phases[&instruction];
}

void Profile::ran(const plan::Program &program,
                  const plan::Instruction &instruction, Clock::time_point begin,
                  Clock::time_point end) {
  double seconds = std::chrono::duration<double>(end - begin).count();
  const bool evaluates =
      ProgramName::parse(program.name()).base == programs::kEval;
  std::string name =
      std::string(kindOf(instruction)) + " " + operatorsOf(instruction);
  TakenWay taken;
  if (auto way = ways.find(&instruction); way != ways.end()) {
    taken = way->second;
    name += " (" + taken.words + ")";
  }
  Row &row =
      rows[{evaluates ? kEvaluation : nameOf(phaseOf(program, instruction)),
            std::move(name)}];
  row.hasFewerProducts = taken.hasFewerProducts;
  ++row.count;
  row.seconds += seconds;
  auto [fastest, isNew] = row.fastest.try_emplace(&instruction, seconds);
  fastest->second = std::min(fastest->second, seconds);
}

void Profile::moved(const plan::Message &message, const plan::Move &,
                    const MessageTimes &times) {
  Row &row =
      rows[{kWaiting, strCat(message.gradient() ? "gradient" : "activation",
                             message.sends() ? " to" : " from", " role ",
                             message.peer())}];
  ++row.count;
  row.seconds +=
      std::chrono::duration<double>(times.ended - times.waited).count();
}

/// GFLOP/s, GB/s and the larger share of a limit: "431.0     10.2   96%
/// compute".
std::string Profile::printRates(const Row &row) const {
  if (row.fastest.empty()) { // no instruction's
    char none[96];
    std::snprintf(none, sizeof(none), "%9s %8s %13s", "-", "-", "-");
    return none;
  }
  double seconds = 1e-12, flops = 0, bytes = 0;
  for (auto [instruction, time] : row.fastest) {
    seconds += time;
    flops += instruction->flops();
    bytes += instruction->bytes();
  }
  double compute = flops / seconds, memory = bytes / seconds;
  char text[96];
  std::snprintf(text, sizeof(text), "%9.1f %8.1f ", compute / 1e9,
                memory / 1e9);
  std::string rates = text;
  if (limits.flopsPerSecond <= 0 || limits.bytesPerSecond <= 0)
    return rates + "            -";
  compute /= limits.flopsPerSecond;
  memory /= limits.bytesPerSecond;
  if (compute > 1)
    return rates + (row.hasFewerProducts ? "  fewer FLOPs" : "    too short");
  // More than memory can give: its share says nothing.
  if (memory > 1 && memory > compute)
    return rates + "  from caches";
  std::snprintf(text, sizeof(text), "%4.0f%% %-7s",
                100 * std::max(compute, memory),
                compute > memory ? "compute" : "memory");
  return rates + text;
}

void Profile::addLimits(const DeviceLimits &measured) {
  limits.flopsPerSecond =
      std::max(limits.flopsPerSecond, measured.flopsPerSecond);
  limits.bytesPerSecond =
      std::max(limits.bytesPerSecond, measured.bytesPerSecond);
}

/// A product that the run itself computed faster shows what the machine can do,
/// but for those so short that the clock decides; and so does a kind of op as a
/// whole: no row has more than the limit.
void Profile::addOwnProducts() {
  constexpr double kLeastSeconds = 20e-6;
  if (limits.flopsPerSecond <= 0)
    return;
  for (const auto &[name, row] : rows) {
    double flops = 0, inAll = 1e-12;
    if (row.hasFewerProducts)
      continue;
    for (auto [instruction, seconds] : row.fastest) {
      flops += instruction->flops();
      inAll += seconds;
      if (isCall<kernels::MatmulCall>(*instruction) && seconds >= kLeastSeconds)
        limits.flopsPerSecond =
            std::max(limits.flopsPerSecond, instruction->flops() / seconds);
    }
    if (inAll >= kLeastSeconds)
      limits.flopsPerSecond = std::max(limits.flopsPerSecond, flops / inAll);
  }
}

std::string Profile::printLine(const NamedRow &named, double total) const {
  const Row &row = *named.second;
  char line[80];
  std::snprintf(line, sizeof(line), "%10.3f %6.1f %9lld ", row.seconds * 1e3,
                100 * row.seconds / total, (long long)row.count);
  return line + printRates(row) + "  " + named.first + "\n";
}

/// Empty where nothing is of the phase.
std::string Profile::printPhase(const std::string &phase, double total) const {
  std::vector<NamedRow> sorted;
  Row rest; // its rates would be those of different kinds
  int64_t kinds = 0;
  double seconds = 0;
  for (const auto &[key, row] : rows) {
    if (key.first != phase)
      continue;
    seconds += row.seconds;
    if (row.seconds >= kLeastShare * total) {
      sorted.push_back({key.second, &row});
      continue;
    }
    ++kinds;
    rest.count += row.count;
    rest.seconds += row.seconds;
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) {
    return a.second->seconds > b.second->seconds;
  });
  if (kinds > 0)
    sorted.push_back({strCat("others, ", kinds, kinds == 1 ? " kind" : " kinds",
                             " of less than 0.5% each"),
                      &rest});
  if (sorted.empty())
    return "";
  char line[80];
  std::snprintf(line, sizeof(line), "%10.3f %6.1f ", seconds * 1e3,
                100 * seconds / total);
  std::string text = line + phase + "\n";
  for (const NamedRow &named : sorted)
    text += printLine(named, total);
  return text;
}

std::string Profile::print() {
  addOwnProducts();
  double total = 1e-12;
  for (const auto &[key, row] : rows)
    total += row.seconds;
  char line[200];
  std::snprintf(line, sizeof(line), "%10s %6s %9s %9s %8s %13s  %s\n", "ms",
                "%", "calls", "GFLOP/s", "GB/s", "of limit", "what");
  std::string text = line;
  for (StepPhase phase :
       {StepPhase::Forward, StepPhase::Backward, StepPhase::Optimizer})
    text += printPhase(nameOf(phase), total);
  text += printPhase(kEvaluation, total) + printPhase(kWaiting, total);
  std::snprintf(line, sizeof(line), "%10.3f %6.1f in all\n", total * 1e3,
                100.0);
  text += line;
  if (limits.flopsPerSecond <= 0 || limits.bytesPerSecond <= 0)
    return text;
  std::snprintf(line, sizeof(line),
                "limits: compute %.0f GFLOP/s, the best before, in and after "
                "the run; memory %.0f GB/s\n",
                limits.flopsPerSecond / 1e9, limits.bytesPerSecond / 1e9);
  return text + line;
}

} // namespace zc
