#include "runtime/Driver/Trace.h"
#include "runtime/Plan/InstructionKind.h"
#include "runtime/Plan/StreamNumbers.h"
#include "runtime/Plan/Types.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace zc {

using Json = nlohmann::json;

/// Some hundred thousand instructions tell what there is to see.
static constexpr size_t kMaxEvents = 500000;
/// Behind those of the streams.
static constexpr uint32_t kOrderTrack = 16;

/// Behind the order.
static constexpr uint32_t kFirstLane = 17;
static constexpr const char *kLaneNames[] = {"steps", "data", "checkpoints",
                                             "evaluation"};

Trace::Trace(int rank, std::string name, TraceWindow window)
    : rank(rank), name(std::move(name)), start(Clock::now()), window(window) {
  events.reserve(kMaxEvents);
}

Result<std::unique_ptr<Trace>>
Trace::open(const std::string &path, Executor &executor, TraceWindow window) {
  const int rank = executor.world().rank();
  std::string name = strCat("rank ", rank);
  if (executor.artifact().manifest().roles_size() > 1)
    name += strCat(", role ", executor.mesh().role(rank));
  std::unique_ptr<Trace> trace(new Trace(rank, std::move(name), window));
  if (rank > 0)
    return trace;
  ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  trace->file.emplace(std::move(file));
  return trace;
}

void Trace::ran(const plan::Program &program,
                const plan::Instruction &instruction, Clock::time_point begin,
                Clock::time_point end) {
  if (hasRoom())
    events.push_back({&program, &instruction, begin, end});
}

void Trace::beginStep(int64_t step) {
  isOn = step >= window.first && step <= window.last;
}

void Trace::did(Lane lane, const std::string &what, Clock::time_point begin,
                Clock::time_point end) {
  if (hasRoom())
    spans.push_back({lane, what, begin, end});
}

/// Outside of the window nothing is missed.
bool Trace::hasRoom() {
  if (!isOn)
    return false;
  const bool has = events.size() + actions.size() + spans.size() < kMaxEvents;
  theDropped += has ? 0 : 1;
  return has;
}

void Trace::called(const plan::Program &program, const plan::Call &call,
                   Clock::time_point begin, Clock::time_point end) {
  if (hasRoom())
    actions.push_back(
        {&program, nullptr, call.micro_batch(), {begin, end, end}});
}

void Trace::moved(const plan::Message &message, const plan::Move &move,
                  const MessageTimes &times) {
  if (hasRoom())
    actions.push_back({nullptr, &message, move.micro_batch(), times});
}

/// The name of a track in Chrome's viewer.
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

static std::string print(const Json &event) {
  return event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double Trace::microseconds(Clock::time_point time) const {
  return std::chrono::duration<double, std::micro>(time - start).count();
}

/// This rank's tracks and events, one a line.
std::string Trace::print() const {
  return zc::print(nameOf("process_name", rank, 0, name)) +
         printInstructions() + printOrder() + printSpans();
}

std::string Trace::printInstructions() const {
  std::set<uint32_t> used;
  std::set<const plan::Program *> programs;
  for (const Event &event : events)
    programs.insert(event.program);
  auto numbers = numberInstructions(programs);
  std::string text;
  for (const Event &event : events) {
    const plan::Instruction &instruction = *event.instruction;
    used.insert(instruction.stream());
    Json json = {{"ph", "X"},
                 {"pid", rank},
                 {"tid", instruction.stream()},
                 {"name", instruction.label()},
                 {"cat", kindOf(instruction)},
                 {"ts", microseconds(event.begin)},
                 {"dur", microseconds(event.end) - microseconds(event.begin)},
                 {"args",
                  {{"program", event.program->name()},
                   {"instruction", numbers[&instruction]},
                   {"waits", std::vector<uint32_t>(instruction.waits().begin(),
                                                   instruction.waits().end())},
                   {"flops", instruction.flops()},
                   {"bytes", instruction.bytes()}}}};
    text += ",\n" + zc::print(json);
  }
  for (uint32_t stream : used)
    text += ",\n" + zc::print(nameOf("thread_name", rank, stream,
                                     streams::nameOf(stream)));
  return text;
}

/// "forward 3", "send activation 3 -> role 1".
static std::string nameOf(const plan::Program *program,
                          const plan::Message *message, uint32_t microBatch) {
  if (program)
    return strCat(program->name(), " ", microBatch);
  return strCat(message->sends() ? "send " : "receive ",
                message->gradient() ? "gradient " : "activation ", microBatch,
                message->sends() ? " -> role " : " <- role ", message->peer());
}

/// Calls and waiting follow one another in a track; messages are beside them,
/// for several are under way at once.
std::string Trace::printOrder() const {
  std::string text;
  uint64_t id = uint64_t(rank) << 32; // of a message, among all ranks'
  for (const Action &action : actions) {
    const std::string what =
        nameOf(action.program, action.message, action.microBatch);
    const Clock::time_point begin =
        action.program ? action.times.began : action.times.waited;
    Json json = {
        {"pid", rank},
        {"tid", kOrderTrack},
        {"args", {{"micro_batch", action.microBatch}}},
    };
    if (action.message) {
      json["args"]["tensor"] = action.message->name();
      json["args"]["bytes"] = *byteCount(action.message->type());
      json["name"] = what, json["cat"] = "message", json["id"] = ++id;
      json["ph"] = "b", json["ts"] = microseconds(action.times.began);
      text += ",\n" + zc::print(json);
      json["ph"] = "e", json["ts"] = microseconds(action.times.ended);
      text += ",\n" + zc::print(json);
      json.erase("id");
    }
    json["ph"] = "X";
    json["name"] = action.program ? what : "wait: " + what;
    json["cat"] = action.program ? "call" : "wait";
    json["ts"] = microseconds(begin);
    json["dur"] = microseconds(action.times.ended) - microseconds(begin);
    text += ",\n" + zc::print(json);
  }
  return actions.empty()
             ? text
             : text + ",\n" +
                   zc::print(nameOf("thread_name", rank, kOrderTrack, "order"));
}

/// No program does what they show. A step's first moment is marked across all
/// tracks of the rank.
std::string Trace::printSpans() const {
  std::string text;
  std::set<Lane> lanes;
  for (const Span &span : spans) {
    const auto lane = uint32_t(span.lane);
    lanes.insert(span.lane);
    Json json = {{"pid", rank},
                 {"tid", kFirstLane + lane},
                 {"name", span.what},
                 {"cat", kLaneNames[lane]},
                 {"ph", "X"},
                 {"args", {{"program", ""}}},
                 {"ts", microseconds(span.begin)},
                 {"dur", microseconds(span.end) - microseconds(span.begin)}};
    text += ",\n" + zc::print(json);
    if (span.lane != Lane::Steps)
      continue;
    json.erase("dur");
    json["ph"] = "i", json["s"] = "p";
    text += ",\n" + zc::print(json);
  }
  for (Lane lane : lanes)
    text += ",\n" +
            zc::print(nameOf("thread_name", rank, kFirstLane + uint32_t(lane),
                             kLaneNames[uint32_t(lane)]));
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
