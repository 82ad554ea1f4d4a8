//===- InspectMemory.cpp - who takes how much, and when -------------------===//
//
// Buffers at the same place at the same time are views of one another, or the
// old and the new value of an instruction that works in place: their bytes
// count once in their class and once in the total.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/Inspect.h"
#include "compiler/Export/TrainedStates.h"
#include "runtime/Plan/AmaxHistory.h"
#include "runtime/Plan/Feed.h"
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/StateVersions.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace zc {
namespace {

/// The number of bytes that at least one of a changing set of ranges covers.
///
/// Space is cut into pieces where any of the ranges begins or ends.
class Coverage {
public:
  explicit Coverage(std::vector<uint64_t> cuts) : cuts(std::move(cuts)) {
    std::sort(this->cuts.begin(), this->cuts.end());
    this->cuts.erase(std::unique(this->cuts.begin(), this->cuts.end()),
                     this->cuts.end());
    counts.resize(this->cuts.size());
  }

  void change(uint64_t begin, uint64_t end, int by) {
    for (size_t i = find(begin); i < find(end); ++i) {
      int before = counts[i];
      counts[i] += by;
      if ((before == 0) != (counts[i] == 0)) {
        uint64_t bytes = cuts[i + 1] - cuts[i];
        covered = by > 0 ? covered + bytes : covered - bytes;
      }
    }
  }

  uint64_t bytes() const { return covered; }

private:
  size_t find(uint64_t cut) const {
    return std::lower_bound(cuts.begin(), cuts.end(), cut) - cuts.begin();
  }

  std::vector<uint64_t> cuts;
  std::vector<int> counts; // ranges over [cuts[i], cuts[i + 1])
  uint64_t covered = 0;
};

struct Range {
  uint64_t begin, end;
  plan::MemoryClass memoryClass;
};

/// The transient buffers of a program, by the instructions at which they come
/// to life and die.
class LiveTimes {
public:
  explicit LiveTimes(const plan::Program &program);

  ProgramMemory measure(const plan::Program &program);

private:
  ClassBytes classesAt(size_t time) const;

  std::vector<Range> ranges;
  std::vector<std::vector<unsigned>> starting, ending; // per instruction
  std::vector<uint64_t> cuts;
};

LiveTimes::LiveTimes(const plan::Program &program)
    : starting(std::max(1, program.instructions_size())),
      ending(starting.size()) {
  for (const plan::Buffer &buffer : program.buffers()) {
    Result<uint64_t> bytes = byteCount(buffer.type());
    if (buffer.space() != plan::TRANSIENT || !bytes.ok() || *bytes == 0)
      continue;
    uint64_t end = buffer.offset() + *bytes;
    size_t last = starting.size() - 1;
    starting[std::min<size_t>(buffer.first_use(), last)].push_back(
        ranges.size());
    ending[std::min<size_t>(buffer.last_use(), last)].push_back(ranges.size());
    ranges.push_back({buffer.offset(), end, buffer.memory_class()});
    cuts.push_back(buffer.offset());
    cuts.push_back(end);
  }
}

ProgramMemory LiveTimes::measure(const plan::Program &program) {
  ProgramMemory memory;
  memory.name = program.name();
  memory.transientBytes = program.transient_bytes();
  Coverage all(cuts);
  std::vector<Coverage> byClass(memory.classes.size(), all);
  auto change = [&](unsigned index, int by) {
    const Range &range = ranges[index];
    all.change(range.begin, range.end, by);
    byClass[range.memoryClass].change(range.begin, range.end, by);
  };
  for (size_t time = 0; time < starting.size(); ++time) {
    for (unsigned index : starting[time])
      change(index, 1);
    ClassBytes &now = memory.timeline.emplace_back();
    for (size_t i = 0; i < byClass.size(); ++i) {
      now[i] = byClass[i].bytes();
      memory.classes[i] = std::max(memory.classes[i], now[i]);
    }
    if (all.bytes() > memory.liveBytes) {
      memory.liveBytes = all.bytes();
      memory.liveAt = static_cast<int>(time);
    }
    for (unsigned index : ending[time])
      change(index, -1);
  }
  if (memory.liveAt >= 0)
    memory.liveClasses = classesAt(size_t(memory.liveAt));
  if (memory.liveAt >= 0 && memory.liveAt < program.instructions_size())
    memory.liveAtLabel = program.instructions(memory.liveAt).label();
  return memory;
}

/// Each byte that is live then, in the class of the newest value there.
ClassBytes LiveTimes::classesAt(size_t time) const {
  std::vector<uint64_t> pieces = cuts;
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  std::vector<int> classOfPiece(pieces.size(), -1);
  std::vector<bool> ended(ranges.size());
  for (size_t at = 0; at < time; ++at)
    for (unsigned index : ending[at])
      ended[index] = true;
  auto find = [&](uint64_t cut) {
    return std::lower_bound(pieces.begin(), pieces.end(), cut) - pieces.begin();
  };
  for (size_t at = 0; at <= time; ++at)
    for (unsigned index : starting[at])
      if (const Range &range = ranges[index]; !ended[index])
        std::fill(classOfPiece.begin() + find(range.begin),
                  classOfPiece.begin() + find(range.end),
                  int(range.memoryClass));
  ClassBytes classes{};
  for (size_t i = 0; i + 1 < pieces.size(); ++i)
    if (classOfPiece[i] >= 0)
      classes[size_t(classOfPiece[i])] += pieces[i + 1] - pieces[i];
  return classes;
}

bool isFloat(plan::DataType type) {
  return type == plan::F64 || type == plan::F32 || type == plan::F16 ||
         type == plan::BF16;
}

// Weights that are not trained are parameters; masks and tables of indices are
// no parameters. Where the forward reads copies, the parameters themselves are
// the optimizer's.
plan::MemoryClass classOf(const plan::State &state, bool hasCopies) {
  switch (state.kind()) {
  case plan::PARAMETER:
    return hasCopies ? plan::OPTIMIZER_STATE : plan::PARAMETERS;
  case plan::COPY:
    return plan::PARAMETERS;
  case plan::CONSTANT:
    return isFloat(state.type().dtype()) ? plan::PARAMETERS : plan::ACTIVATIONS;
  case plan::OPTIMIZER:
    return plan::OPTIMIZER_STATE;
  case plan::ACCUMULATOR:
    return plan::GRADIENTS;
  default:
    return plan::ACTIVATIONS;
  }
}

void add(ClassBytes &sum, const ClassBytes &term) {
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += term[i];
}

/// The optimizer's bytes per trained element, of whole tensors: ranks may share
/// them. Histories of 8-bit floats are no optimizer's.
double countOptimizerBytes(const plan::Role &role, bool hasCopies,
                           uint64_t &parameters) {
  uint64_t kept = 0;
  const TrainedStates trained(role);
  for (const plan::State &state : role.states()) {
    if ((state.kind() != plan::PARAMETER && state.kind() != plan::OPTIMIZER) ||
        isAmaxHistory(state))
      continue;
    for (const FileTensor &tensor : fileTensorsOf(state)) {
      if (trained.contains(state))
        parameters += *elementCount(tensor.type);
      if (state.kind() == plan::OPTIMIZER || hasCopies)
        kept += *byteCount(tensor.type);
    }
  }
  return parameters > 0 ? double(kept) / double(parameters) : 0;
}

uint64_t countHistoryBytes(const plan::Role &role) {
  uint64_t bytes = 0;
  for (const plan::State &state : role.states())
    if (Result<uint64_t> each = byteCount(state.type());
        isAmaxHistory(state) && each.ok())
      bytes += *each;
  return bytes;
}

/// Rings of messages are communication, unless the plan says otherwise.
plan::MemoryClass classOf(const plan::Role &role, int ring) {
  if (role.rings(ring).memory_class() != plan::MEMORY_CLASS_UNSPECIFIED)
    return role.rings(ring).memory_class();
  auto isIn = [&](const plan::Message &message) {
    return int(message.ring()) == ring;
  };
  return std::any_of(role.messages().begin(), role.messages().end(), isIn)
             ? plan::COMMUNICATION
             : plan::ACTIVATIONS;
}

/// Whether a phase keeps micro-batches in a ring: rings of training and of
/// evaluation may have the same bytes.
bool isUsed(const plan::Role &role, int ring, bool evaluates) {
  for (const plan::Message &message : role.messages())
    if (int(message.ring()) == ring && message.eval() == evaluates)
      return true;
  for (const plan::Program &program : role.programs())
    if (isEvaluation(program) == evaluates)
      for (const plan::Buffer &buffer : program.buffers())
        if (buffer.space() == plan::FLIGHT && int(buffer.ring()) == ring)
          return true;
  return false;
}

/// The most bytes of gathered units at once: units take turns in memory.
uint64_t countGathered(const plan::Role &role) {
  std::map<uint64_t, uint64_t> ends; // by where they begin
  for (const plan::State &state : role.states())
    if (Result<uint64_t> bytes = byteCount(state.type());
        state.kind() == plan::GATHERED && bytes.ok())
      ends[state.offset()] =
          std::max(ends[state.offset()], state.offset() + *bytes);
  uint64_t sum = 0, last = 0;
  for (auto [begin, end] : ends) {
    sum += end > last ? end - std::max(begin, last) : 0;
    last = std::max(last, end);
  }
  return sum;
}

/// Bytes that last while a role trains or evaluates: states, slots, and the
/// next batch.
ClassBytes countLasting(const plan::Role &role, bool hasCopies, uint64_t ahead,
                        bool evaluates) {
  ClassBytes classes{};
  for (const plan::State &state : role.states())
    if (state.offloaded() || state.kind() == plan::GATHERED)
      continue;
    else if (Result<uint64_t> bytes = byteCount(state.type()); bytes.ok())
      classes[classOf(state, hasCopies)] +=
          *bytes * (hasVersions(state) ? role.versions() : 1);
  for (int i = 0; i < role.rings_size(); ++i)
    if (isUsed(role, i, evaluates) && !role.rings(i).offloaded())
      classes[classOf(role, i)] +=
          role.rings(i).slots() * role.rings(i).slot_bytes();
  classes[plan::COMMUNICATION] += ahead + countGathered(role);
  return classes;
}

} // namespace

MemoryReport measureMemory(const plan::Manifest &manifest) {
  MemoryReport largest;
  for (int role = 0; role < manifest.roles_size(); ++role)
    if (MemoryReport report = measureMemory(manifest, role);
        role == 0 || report.peak > largest.peak)
      largest = std::move(report);
  return largest;
}

MemoryReport measureMemory(const plan::Manifest &manifest, int index) {
  const plan::Role &role = manifest.roles(index);
  MemoryReport report;
  report.role = index;
  // The next batch waits beside the inputs, all the time.
  const uint64_t ahead = fedAheadBytes(manifest, role);
  report.persistentBytes = role.persistent_bytes() + ahead;
  report.flightBytes = role.flight_bytes();
  report.offloadedBytes =
      role.offloaded_bytes() + role.offloaded_flight_bytes();
  uint64_t largest = 0;
  for (const plan::Program &program : role.programs()) {
    report.programs.push_back(LiveTimes(program).measure(program));
    const ProgramMemory &memory = report.programs.back();
    for (size_t i = 0; i < memory.classes.size(); ++i)
      report.classes[i] = std::max(report.classes[i], memory.classes[i]);
    if (report.peakProgram < 0 || memory.transientBytes > largest) {
      largest = memory.transientBytes;
      report.peakProgram = static_cast<int>(report.programs.size()) - 1;
    }
  }
  const bool hasCopies = std::any_of(
      role.states().begin(), role.states().end(),
      [](const plan::State &state) { return state.kind() == plan::COPY; });
  const ClassBytes training = countLasting(role, hasCopies, ahead, false);
  const ClassBytes evaluating = countLasting(role, hasCopies, ahead, true);
  for (size_t i = 0; i < training.size(); ++i)
    report.classes[i] += std::max(training[i], evaluating[i]);
  const bool evaluates = report.peakProgram >= 0 &&
                         isEvaluation(role.programs(report.peakProgram));
  if (report.peakProgram >= 0)
    report.peakName = report.programs[size_t(report.peakProgram)].name;
  report.peakIsBesideSteps = evaluates || report.peakName == programs::kInit ||
                             report.peakName == programs::kCopy;
  report.atPeak = evaluates ? evaluating : training;
  report.peak = report.persistentBytes + report.flightBytes + largest;
  if (report.peakProgram >= 0)
    add(report.atPeak, report.programs[report.peakProgram].liveClasses);
  report.unusedAtPeak =
      report.peak -
      std::accumulate(report.atPeak.begin(), report.atPeak.end(), uint64_t(0));
  report.optimizerBytesPerParameter =
      countOptimizerBytes(role, hasCopies, report.trained);
  report.historyBytes = countHistoryBytes(role);
  return report;
}

} // namespace zc
