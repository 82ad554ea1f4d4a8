#include "runtime/Driver/Profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace zc {

using Json = nlohmann::json;

/// Some hundred thousand instructions tell what there is to see.
static constexpr size_t kMaxEvents = 500000;

std::string operatorsOf(const plan::Instruction &instruction) {
  const std::string &label = instruction.label();
  return label.substr(0, label.find(' '));
}

void Profile::ran(const plan::Program &, const plan::Instruction &instruction,
                  Clock::time_point begin, Clock::time_point end) {
  double seconds = std::chrono::duration<double>(end - begin).count();
  Row &row = rows[kindOf(instruction) + " " + operatorsOf(instruction)];
  ++row.count;
  row.seconds += seconds;
  auto [fastest, isNew] = row.fastest.try_emplace(&instruction, seconds);
  fastest->second = std::min(fastest->second, seconds);
}

/// GFLOP/s, GB/s and the larger share of a limit: "431.0     10.2   96%
/// compute".
std::string Profile::printRow(const Row &row) const {
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

/// A product that the run itself computed faster shows what the machine can do;
/// but for those so short that the clock decides.
void Profile::addOwnProducts() {
  constexpr double kLeastSeconds = 20e-6;
  if (limits.flopsPerSecond <= 0)
    return;
  for (const auto &[name, row] : rows)
    for (auto [instruction, seconds] : row.fastest)
      if (instruction->has_matmul() && seconds >= kLeastSeconds)
        limits.flopsPerSecond =
            std::max(limits.flopsPerSecond, instruction->flops() / seconds);
}

std::string Profile::print() {
  addOwnProducts();
  std::vector<std::pair<std::string, const Row *>> sorted;
  for (const auto &[name, row] : rows)
    sorted.push_back({name, &row});
  std::stable_sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) {
    return a.second->seconds > b.second->seconds;
  });
  double total = 0;
  for (const auto &[name, row] : sorted)
    total += row->seconds;
  char line[200];
  std::snprintf(line, sizeof(line), "%10s %6s %9s %9s %8s %13s  %s\n", "ms",
                "%", "calls", "GFLOP/s", "GB/s", "of limit", "what");
  std::string text = line;
  for (const auto &[name, row] : sorted) {
    std::snprintf(line, sizeof(line), "%10.3f %6.1f %9lld ", row->seconds * 1e3,
                  100 * row->seconds / std::max(total, 1e-12),
                  (long long)row->count);
    text += line + printRow(*row) + "  " + name + "\n";
  }
  std::snprintf(line, sizeof(line), "%10.3f %6.1f in all\n", total * 1e3,
                100.0);
  text += line;
  if (limits.flopsPerSecond <= 0 || limits.bytesPerSecond <= 0)
    return text;
  std::snprintf(line, sizeof(line),
                "limits: compute %.0f GFLOP/s, the best product before, in and "
                "after the run; memory %.0f GB/s, above 100%% where caches "
                "serve\n",
                limits.flopsPerSecond / 1e9, limits.bytesPerSecond / 1e9);
  return text + line;
}

Trace::Trace(int rank) : rank(rank), start(Clock::now()) {
  events.reserve(kMaxEvents);
}

Result<std::unique_ptr<Trace>> Trace::open(const std::string &path, int rank) {
  std::unique_ptr<Trace> trace(new Trace(rank));
  if (rank > 0)
    return trace;
  ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  trace->file.emplace(std::move(file));
  return trace;
}

void Trace::ran(const plan::Program &program,
                const plan::Instruction &instruction, Clock::time_point begin,
                Clock::time_point end) {
  if (events.size() < kMaxEvents)
    events.push_back({&program, &instruction, begin, end});
  else
    ++theDropped;
}

/// What Chrome shows beside a track.
static Json nameOf(const char *what, int rank, uint32_t stream,
                   const std::string &name) {
  return {{"ph", "M"},
          {"pid", rank},
          {"tid", stream},
          {"name", what},
          {"args", {{"name", name}}}};
}

/// Instructions' places in their programs, which `waits` count in.
static std::map<const plan::Instruction *, int>
numberInstructions(const std::set<const plan::Program *> &programs) {
  std::map<const plan::Instruction *, int> numbers;
  for (const plan::Program *program : programs)
    for (int i = 0; i < program->instructions_size(); ++i)
      numbers[&program->instructions(i)] = i;
  return numbers;
}

Status Trace::write(const std::string &text) {
  return file->write(text.data(), text.size());
}

/// This rank's tracks and events, one a line.
std::string Trace::print() const {
  auto print = [](const Json &event) {
    return event.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  auto microseconds = [](Clock::duration duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
  };
  std::set<uint32_t> streams;
  std::set<const plan::Program *> programs;
  for (const Event &event : events)
    programs.insert(event.program);
  auto numbers = numberInstructions(programs);
  std::string text =
      print(nameOf("process_name", rank, 0, "rank " + std::to_string(rank)));
  for (const Event &event : events) {
    const plan::Instruction &instruction = *event.instruction;
    streams.insert(instruction.stream());
    Json json = {{"ph", "X"},
                 {"pid", rank},
                 {"tid", instruction.stream()},
                 {"name", instruction.label()},
                 {"cat", kindOf(instruction)},
                 {"ts", microseconds(event.begin - start)},
                 {"dur", microseconds(event.end - event.begin)},
                 {"args",
                  {{"program", event.program->name()},
                   {"instruction", numbers[&instruction]},
                   {"waits", std::vector<uint32_t>(instruction.waits().begin(),
                                                   instruction.waits().end())},
                   {"flops", instruction.flops()},
                   {"bytes", instruction.bytes()}}}};
    text += ",\n" + print(json);
  }
  for (uint32_t stream : streams)
    text += ",\n" + print(nameOf("thread_name", rank, stream,
                                 "stream " + std::to_string(stream)));
  return text;
}

Status Trace::finish(World &world) {
  std::string text = print();
  if (file)
    ZC_RETURN_IF_ERROR(
        write("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" + text));
  for (int other = 1; other < world.size(); ++other) {
    int64_t size = rank == other ? int64_t(text.size()) : 0;
    ZC_RETURN_IF_ERROR(world.all().broadcast(&size, sizeof(size), other));
    std::string theirs = rank == other ? text : std::string(size_t(size), ' ');
    ZC_RETURN_IF_ERROR(
        world.all().broadcast(theirs.data(), uint64_t(size), other));
    if (file)
      ZC_RETURN_IF_ERROR(write(",\n" + theirs));
  }
  if (!file)
    return Status();
  ZC_RETURN_IF_ERROR(write("\n]}\n"));
  return file->commit();
}

} // namespace zc
