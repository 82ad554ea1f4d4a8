#include "runtime/Simulate/OrderWalk.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

namespace zc {

OrderWalk::OrderWalk(uint32_t index, const plan::Role &role, const RoleUse &use,
                     const plan::Order &order, const TimedPrograms &programs,
                     const SimulatedDevice &device, SimulatedWorld &world,
                     std::vector<SimulatedSpan> *spans)
    : index(index), source(role), use(use), order(order), programs(programs),
      device(device), world(world), spans(spans) {}

void OrderWalk::addSpan(SimulatedSpan span) {
  if (!spans)
    return;
  span.role = index;
  span.end = world.now();
  spans->push_back(span);
}

void OrderWalk::proceed() {
  if (state != State::Walking)
    return;
  auto isStopped = [&] {
    if (waitBegan < 0)
      waitBegan = world.now();
  };
  while (next < order.actions_size()) {
    if (!act(order.actions(next)))
      return isStopped();
    if (waitBegan >= 0)
      role.waiting += world.now() - std::exchange(waitBegan, -1);
    ++next;
    if (state == State::Calling)
      return;
  }
  if (!await([](const Flying &) { return true; }))
    return isStopped();
  if (waitBegan >= 0)
    role.waiting += world.now() - std::exchange(waitBegan, -1);
  role.end = world.now();
  state = State::Done;
}

bool OrderWalk::act(const plan::Action &action) {
  if (!await([&](const Flying &each) {
        return mustEndBefore(source, use, action, each);
      }))
    return false;
  if (action.has_call())
    beginCall(action.call());
  else if (!action.has_feed())
    beginMove(*moveOf(action));
  return true;
}

bool OrderWalk::await(const std::function<bool(const Flying &)> &isMeant) {
  for (const Flying &each : flying)
    if (isMeant(each) && !world.hasEnded(each.transfer))
      return false;
  flying.erase(std::remove_if(flying.begin(), flying.end(), isMeant),
               flying.end());
  return true;
}

static bool overlap(const plan::Message &a, const plan::Message &b) {
  return a.offset() < b.offset() + *byteCount(b.type()) &&
         b.offset() < a.offset() + *byteCount(a.type());
}

/// Whether a message lies in one of these rings, in the slot that is used.
static bool isIn(const std::vector<uint32_t> &rings,
                 const google::protobuf::RepeatedField<uint32_t> &slots,
                 const MovingMessage &moving) {
  const uint32_t ring = moving.message->ring();
  return std::count(rings.begin(), rings.end(), ring) > 0 &&
         int(ring) < slots.size() && slots[int(ring)] == moving.slot;
}

bool mustEndBefore(const plan::Role &role, const RoleUse &use,
                   const plan::Action &action, const MovingMessage &moving) {
  if (action.has_feed())
    return isIn(use.program(action.feed().program()).inputRings,
                action.feed().slots(), moving);
  if (action.has_call()) {
    const plan::Call &call = action.call();
    const ProgramUse &program = use.program(call.program());
    return awaits(program, call.micro_batch(), *moving.message,
                  moving.microBatch) &&
           isIn(program.rings, call.slots(), moving);
  }
  const plan::Move &move = *moveOf(action);
  const plan::Message &message = role.messages(int(move.message()));
  if (moving.message->ring() != message.ring() || moving.slot != move.slot())
    return false;
  const bool bothRead = moving.message->sends() && message.sends();
  return moving.microBatch != move.micro_batch() ||
         (!bothRead && overlap(*moving.message, message));
}

void OrderWalk::beginMove(const plan::Move &move) {
  const plan::Message &message = source.messages(int(move.message()));
  flying.push_back({{&message, move.micro_batch(), move.slot()},
                    world.post(index, message, move.micro_batch())});
}

// --- Calls

void OrderWalk::beginCall(const plan::Call &begun) {
  state = State::Calling;
  call = &begun;
  program = &programs.find(index, begun.program());
  callBegan = world.now();
  idleBegan = -1;
  for (Stream &stream : streams)
    stream = Stream();
  // An event of its own even where it takes no time: proceed() ends before the
  // program does.
  isStarting = true;
  world.computeFor(index, 0, device.callSeconds);
}

bool OrderWalk::isReady(const TimedProgram &of, uint32_t instruction,
                        uint32_t &cause) const {
  for (uint32_t other : of.program->instructions(int(instruction)).waits())
    if (streams[of.instructions[other].stream].last < int64_t(other)) {
      cause = other;
      return false;
    }
  return true;
}

void OrderWalk::begin(uint32_t stream, uint32_t instruction) {
  const TimedInstruction &timed = program->instructions[instruction];
  streams[stream].isBusy = true;
  streams[stream].began = world.now();
  role.flops += timed.flops;
  if (timed.isCollective)
    return world.collect(index, stream, timed);
  world.computeFor(index, stream, timed.seconds);
}

/// The instruction that the main stream waits for while it does not compute;
/// -1: none with a known name.
int OrderWalk::causeOfWait() const {
  const std::vector<uint32_t> &main = program->streams[0];
  uint32_t cause = 0;
  if (streams[0].next < main.size()) {
    if (!isReady(*program, main[streams[0].next], cause))
      return program->instructions[cause].exposure;
    return -1;
  }
  for (size_t i = 1; i < kSimulatedStreams; ++i)
    if (streams[i].next < program->streams[i].size())
      return program->instructions[program->streams[i][streams[i].next]]
          .exposure;
  return -1;
}

/// The part of the time since `began` in which others were to come to a
/// collective: they keep this role waiting, not the network.
double OrderWalk::waitedUntilMet(double began) {
  const double waited = std::max(0.0, std::exchange(met, -1) - began);
  role.waiting += waited;
  role.called -= waited;
  return waited;
}

void OrderWalk::expose() {
  if (idleBegan < 0)
    return;
  const double began = std::exchange(idleBegan, -1);
  const double seconds = world.now() - began - waitedUntilMet(began);
  if (seconds > 0)
    role.exposed[idleCause < 0 ? "other" : programs.exposure(idleCause)] +=
        seconds;
}

void OrderWalk::advanceStreams() {
  bool isOver = true;
  for (uint32_t i = 0; i < kSimulatedStreams; ++i) {
    Stream &stream = streams[i];
    const std::vector<uint32_t> &list = program->streams[i];
    if (stream.next == list.size())
      continue;
    isOver = false;
    uint32_t cause;
    if (stream.isBusy || !isReady(*program, list[stream.next], cause))
      continue;
    if (i == 0)
      expose();
    begin(i, list[stream.next]);
  }
  if (isOver)
    return endCall();
  if (!streams[0].isBusy) {
    const int cause = causeOfWait();
    if (cause != idleCause)
      expose();
    idleCause = cause;
    if (idleBegan < 0)
      idleBegan = world.now();
  }
}

void OrderWalk::finished(uint32_t which, double metAt) {
  if (isStarting) {
    isStarting = false;
    return advanceStreams();
  }
  Stream &stream = streams[which];
  const uint32_t instruction = program->streams[which][stream.next];
  const TimedInstruction &timed = program->instructions[instruction];
  const double seconds = world.now() - stream.began;
  met = metAt;
  if (which == 0 && timed.isCollective)
    role.exposed[programs.exposure(timed.exposure)] +=
        seconds - waitedUntilMet(stream.began);
  else if (which == 0) {
    role.compute += seconds;
    role.computeByKind[timed.kind] += seconds;
  }
  stream.last = instruction;
  stream.isBusy = false;
  ++stream.next;
  SimulatedSpan span;
  span.program = program->program;
  span.instruction = int(instruction);
  span.microBatch = call->micro_batch();
  span.begin = stream.began;
  addSpan(span);
  advanceStreams();
}

void OrderWalk::endCall() {
  expose();
  role.called += world.now() - callBegan;
  SimulatedSpan span;
  span.kind = SimulatedSpan::Kind::Call;
  span.program = program->program;
  span.microBatch = call->micro_batch();
  span.begin = callBegan;
  addSpan(span);
  state = State::Walking;
  proceed();
}

} // namespace zc
