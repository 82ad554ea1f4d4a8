#include "runtime/Exec/Executor.h"
#include "runtime/Exec/Instructions.h"
#include "runtime/Plan/NeededInstructions.h"

#include <algorithm>
#include <map>

namespace zc {

Executor::~Executor() {
  if (!host)
    return;
  // Collectives may wait for ranks that are gone; failures have been told.
  const Result<bool> idle = device.isIdle(kMainStream);
  if (collectives.areOnDevice() && !(idle.ok() && *idle))
    collectives.abort();
  static_cast<void>(device.synchronize(kMainStream));
}

Status Executor::execute(Step &step) {
  if (!step.executable)
    return runCollective(step);
  ZC_RETURN_IF_ERROR(device.launch(*step.executable, step.stream));
  // Threads wait for what is done, not for what is begun.
  return capturing ? Status() : synchronize(step.stream);
}

/// Ranks that fail or do not come would keep a device waiting for ever.
Status Executor::synchronize(StreamId stream) {
  if (!collectives.areOnDevice())
    return device.synchronize(stream);
  Status status = theWorld->waitFor([&]() -> Result<bool> {
    ZC_RETURN_IF_ERROR(collectives.check());
    return device.isIdle(stream);
  });
  if (!status.ok())
    collectives.abort();
  return status;
}

Status Executor::runCollective(Step &step) {
  if (collectives.areOnDevice()) {
    ZC_RETURN_IF_ERROR(device.nativeStream(step.stream).status());
    ZC_RETURN_IF_ERROR(step.collective->run());
    return capturing ? Status() : synchronize(step.stream);
  }
  // The collective reads buffers that the stream writes.
  ZC_RETURN_IF_ERROR(device.synchronize(step.stream));
  if (!step.staged)
    return step.collective->run();
  StagedBuffers &staged = *step.staged;
  ZC_RETURN_IF_ERROR(device.copyOut(staged.source.data(), staged.deviceSource,
                                    staged.source.size(), step.stream));
  ZC_RETURN_IF_ERROR(step.collective->run());
  ZC_RETURN_IF_ERROR(device.copyIn(staged.deviceDestination, staged.result(),
                                   staged.resultBytes(), step.stream));
  return device.synchronize(step.stream);
}

void Executor::keepOutputs(const plan::Program &program,
                           const std::set<std::string> &outputs) {
  const std::vector<bool> needed = neededInstructions(program, outputs);
  for (Prepared &each : prepared)
    for (size_t i = 0; each.program == &program && i < needed.size(); ++i) {
      Step &step = each.steps[i];
      step.isLeftOut = !needed[i];
      if (step.isLeftOut && step.collective && collectives.areOnDevice())
        each.sentOnDevice -= step.instruction->collective().sent_bytes();
    }
}

Status Executor::launch(const plan::Program &program, Step &step) {
  if (step.isLeftOut)
    return Status();
  if (observers.empty())
    return execute(step);
  auto begin = InstructionObserver::Clock::now();
  ZC_RETURN_IF_ERROR(execute(step));
  ZC_RETURN_IF_ERROR(synchronize(step.stream));
  auto end = InstructionObserver::Clock::now();
  std::lock_guard<std::mutex> lock(observing);
  for (InstructionObserver *observer : observers)
    observer->ran(program, *step.instruction, begin, end);
  return Status();
}

Status Executor::runStep(Prepared &program, size_t index) {
  Step &step = program.steps[index];
  Status status = launch(*program.program, step);
  // Other ranks' failures are theirs to explain.
  if (status.ok() || status.code() == StatusCode::Cancelled ||
      status.code() == StatusCode::DeadlineExceeded)
    return status;
  return status.withContext(
      describe(*program.program, index, *step.instruction));
}

Status Executor::runStream(Prepared &program, uint32_t stream) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const plan::Instruction &instruction = *program.steps[i].instruction;
    if (instruction.stream() != stream)
      continue;
    for (uint32_t other : instruction.waits())
      if (!progress.waitFor(program.steps[other].instruction->stream(), other))
        return Status(StatusCode::Cancelled, "the other stream failed");
    if (Status status = runStep(program, i); !status.ok()) {
      progress.fail();
      return status;
    }
    progress.done(stream, uint32_t(i));
  }
  return Status();
}

Status Executor::runStreams(Prepared &program) {
  progress.begin();
  std::array<Status, kNumStreams> ends;
  auto run = [&](uint32_t stream) {
    Status status = runStream(program, stream);
    // A collective may wait for ranks that will not get further.
    if (!status.ok() && status.code() != StatusCode::Cancelled &&
        stream != kCollectiveStream)
      status = theWorld->fail(status);
    ends[stream] = status;
  };
  for (uint32_t stream = 1; stream < kNumStreams; ++stream)
    if (program.uses[stream])
      sideThreads[stream - 1].start([&run, stream] { run(stream); });
  run(kMainStream);
  Status result = ends[kMainStream];
  for (uint32_t stream = 1; stream < kNumStreams; ++stream) {
    if (!program.uses[stream])
      continue;
    sideThreads[stream - 1].wait();
    // One that was stopped by another's failure has nothing to tell.
    bool tells = result.ok() ||
                 (result.code() == StatusCode::Cancelled && !ends[stream].ok());
    if (tells)
      result = ends[stream];
  }
  return result;
}

/// Ranks that meet in collectives on the host a device cannot record; observers
/// want to see each instruction.
bool Executor::isCaptured(const Prepared &program) const {
  auto isOnDevice = [&](const Step &step) {
    return step.executable || collectives.areOnDevice();
  };
  return device.capturesPrograms() && observers.empty() &&
         std::all_of(program.steps.begin(), program.steps.end(), isOnDevice);
}

/// Makes later launches on `later` wait for all earlier ones on `earlier`.
Status Executor::order(StreamId earlier, StreamId later) {
  ZC_ASSIGN_OR_RETURN(EventId event, device.createEvent());
  ZC_RETURN_IF_ERROR(device.record(event, earlier));
  return device.wait(event, later);
}

/// All instructions on their streams; the others' begin behind the main one's
/// begin and end before its end.
Status Executor::enqueueAll(Prepared &program) {
  std::map<uint32_t, EventId> ends; // of instructions that others wait for
  for (const Step &step : program.steps)
    for (uint32_t other : step.instruction->waits())
      ends[other] = 0;
  for (uint32_t stream = 1; stream < kNumStreams; ++stream)
    if (program.uses[stream])
      ZC_RETURN_IF_ERROR(order(kMainStream, stream));
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    for (uint32_t other : step.instruction->waits())
      ZC_RETURN_IF_ERROR(device.wait(ends.at(other), step.stream));
    ZC_RETURN_IF_ERROR(runStep(program, i));
    auto end = ends.find(uint32_t(i));
    if (end == ends.end())
      continue;
    ZC_ASSIGN_OR_RETURN(end->second, device.createEvent());
    ZC_RETURN_IF_ERROR(device.record(end->second, step.stream));
  }
  for (uint32_t stream = 1; stream < kNumStreams; ++stream)
    if (program.uses[stream])
      ZC_RETURN_IF_ERROR(order(stream, kMainStream));
  return Status();
}

Status Executor::capture(Prepared &program) {
  ZC_RETURN_IF_ERROR(device.beginCapture());
  capturing = true;
  Status status = enqueueAll(program);
  capturing = false;
  auto graph = device.endCapture(); // also behind a failure, to leave the mode
  ZC_RETURN_IF_ERROR(status);
  ZC_ASSIGN_OR_RETURN(program.whole, std::move(graph));
  return Status();
}

Status Executor::startCaptured(Prepared &program) {
  if (!program.whole)
    ZC_RETURN_IF_ERROR(capture(program));
  return device.launch(*program.whole, kMainStream);
}

std::map<const plan::Instruction *, TakenWay> Executor::ways() const {
  std::map<const plan::Instruction *, TakenWay> all;
  for (const Prepared &each : prepared)
    for (const Step &step : each.steps)
      if (step.executable && !step.executable->way().words.empty())
        all[step.instruction] = step.executable->way();
  return all;
}

Executor::Prepared &Executor::findPrepared(const plan::Program &program,
                                           const Slots &slots) {
  auto found =
      std::find_if(prepared.begin(), prepared.end(), [&](const Prepared &p) {
        return p.program == &program && p.slots == slots &&
               (p.newest < 0 || p.newest == newest);
      });
  assert(found != prepared.end() && "only prepared programs can run");
  return *found;
}

Status Executor::start(const plan::Program &program, const Slots &slots) {
  Prepared &found = findPrepared(program, slots);
  if (isCaptured(found))
    ZC_RETURN_IF_ERROR(startCaptured(found));
  else if (std::any_of(found.uses + 1, std::end(found.uses),
                       [](bool used) { return used; }))
    ZC_RETURN_IF_ERROR(runStreams(found));
  else
    for (size_t i = 0; i < found.steps.size(); ++i)
      ZC_RETURN_IF_ERROR(runStep(found, i));
  sentOnDevice += found.sentOnDevice;
  return Status();
}

Status Executor::finish(const plan::Program &program) {
  Status status = synchronize(kMainStream);
  // Other ranks' failures are theirs to explain.
  bool isOurs = status.code() != StatusCode::Cancelled &&
                status.code() != StatusCode::DeadlineExceeded;
  return isOurs ? status.withContext("program '" + program.name() + "'")
                : status;
}

} // namespace zc
