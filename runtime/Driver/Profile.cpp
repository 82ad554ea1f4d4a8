#include "runtime/Driver/Profile.h"

#include <algorithm>
#include <cstdio>
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
  Row &row = rows[kindOf(instruction) + " " + operatorsOf(instruction)];
  ++row.count;
  row.seconds += std::chrono::duration<double>(end - begin).count();
  row.flops += instruction.flops();
  row.bytes += instruction.bytes();
}

std::string Profile::print() const {
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) {
    return a.second.seconds > b.second.seconds;
  });
  double total = 0;
  for (const auto &[name, row] : sorted)
    total += row.seconds;
  char line[160];
  std::snprintf(line, sizeof(line), "%10s %6s %9s %9s %8s  %s\n", "ms", "%",
                "calls", "GFLOP/s", "GB/s", "what");
  std::string text = line;
  for (const auto &[name, row] : sorted) {
    double seconds = std::max(row.seconds, 1e-12);
    std::snprintf(line, sizeof(line), "%10.3f %6.1f %9lld %9.1f %8.1f  ",
                  row.seconds * 1e3, 100 * row.seconds / std::max(total, 1e-12),
                  (long long)row.count, row.flops / seconds / 1e9,
                  row.bytes / seconds / 1e9);
    text += line + name + "\n";
  }
  std::snprintf(line, sizeof(line), "%10.3f %6.1f in all\n", total * 1e3,
                100.0);
  return text + line;
}

Trace::Trace(AtomicFile file, int rank)
    : file(std::move(file)), rank(rank), start(Clock::now()) {
  events.reserve(kMaxEvents);
}

Result<std::unique_ptr<Trace>> Trace::open(const std::string &path, int rank) {
  ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  return std::unique_ptr<Trace>(new Trace(std::move(file), rank));
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

Status Trace::write(const std::string &text) {
  return file.write(text.data(), text.size());
}

Status Trace::finish() {
  auto print = [](const Json &event) {
    return event.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  auto microseconds = [](Clock::duration duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
  };
  std::set<uint32_t> streams;
  ZC_RETURN_IF_ERROR(write(
      "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" +
      print(nameOf("process_name", rank, 0, "rank " + std::to_string(rank)))));
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
                   {"flops", instruction.flops()},
                   {"bytes", instruction.bytes()}}}};
    ZC_RETURN_IF_ERROR(write(",\n" + print(json)));
  }
  for (uint32_t stream : streams)
    ZC_RETURN_IF_ERROR(
        write(",\n" + print(nameOf("thread_name", rank, stream,
                                   "stream " + std::to_string(stream)))));
  ZC_RETURN_IF_ERROR(write("\n]}\n"));
  return file.commit();
}

} // namespace zc
