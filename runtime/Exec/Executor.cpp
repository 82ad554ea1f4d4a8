#include "runtime/Exec/Executor.h"
#include "runtime/Exec/Instructions.h"
#include "runtime/Exec/LoadCode.h"
#include "runtime/Plan/Feed.h"
#include "runtime/Plan/NeededInstructions.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace zc {

namespace {

/// Where an instruction stands and comes from, for messages.
std::string describe(const plan::Program &program, size_t index,
                     const plan::Instruction &instruction) {
  return strCat("program '", program.name(), "', instruction ", index, " (",
                instruction.label(), ")");
}

} // namespace

Result<std::unique_ptr<Executor>>
Executor::prepare(Device &device, const Artifact &artifact,
                  const std::vector<std::string> &programs, World *world,
                  const std::string &offloadFolder,
                  const std::vector<std::string> &besides, int hostThreads) {
  ZC_ASSIGN_OR_RETURN(Mesh mesh, Mesh::of(artifact.manifest()));
  std::unique_ptr<Executor> executor(
      new Executor(device, artifact, mesh, world));
  assert(mesh.ranks() == executor->world().size() && "a rank for each place");
  ZC_RETURN_IF_ERROR(executor->loadCode());
  std::vector<const plan::Program *> found;
  for (const std::string &name : programs)
    if (const plan::Program *program = artifact.program(name);
        program && std::count(found.begin(), found.end(), program) == 0)
      found.push_back(program);
  std::vector<const plan::Program *> housed = found;
  for (const std::string &name : besides)
    if (const plan::Program *program = artifact.program(name))
      housed.push_back(program);
  ZC_ASSIGN_OR_RETURN(executor->host, openHost(artifact, found, hostThreads));
  const plan::Program *fed = executor->findFed(found);
  ZC_RETURN_IF_ERROR(executor->allocate(housed, fed, offloadFolder));
  const Orders orders = ordersOf(artifact);
  if (fed)
    ZC_RETURN_IF_ERROR(executor->prepareFeedAhead(*fed, orders));
  for (const plan::Program *program : found) {
    const bool hasVersions = usesVersions(*program);
    const int64_t end = hasVersions ? artifact.role().versions() : 0;
    for (const Slots &slots : slotsOfCalls(artifact.role(), orders, *program))
      for (int64_t newest = hasVersions ? 0 : -1; newest < end; ++newest)
        ZC_RETURN_IF_ERROR(executor->prepareProgram(*program, slots, newest));
  }
  return executor;
}

Status Executor::prepareFeedAhead(const plan::Program &program,
                                  const Orders &orders) {
  ZC_ASSIGN_OR_RETURN(
      feed, FeedAhead::create(device, program, arena.base() + feedOffset));
  for (const Slots &slots : slotsOfCalls(role(), orders, program))
    ZC_RETURN_IF_ERROR(feed->addSlots(slots, addressesOf(program, slots)));
  return Status();
}

AddressMap Executor::addressesOf(const plan::Program &program,
                                 const Slots &slots, int64_t newest) const {
  std::vector<char *> places;
  for (size_t ring = 0; ring < slots.size(); ++ring)
    places.push_back(slotOf(uint32_t(ring), slots[ring]));
  return {program,          arena.base(),      arena.base() + transientOffset,
          offloaded.base(), std::move(places), {&role(), newest}};
}

Status Executor::loadCode() {
  return loadBestCode(device, theArtifact,
                      theArtifact.manifest().target().code());
}

/// On disk by convention, where /tmp may be memory.
static std::string defaultOffloadFolder() {
  const char *folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/var/tmp";
}

/// One request for all: the device has room for the plan or it has not.
Status Executor::allocate(const std::vector<const plan::Program *> &programs,
                          const plan::Program *fed,
                          const std::string &offloadFolder) {
  uint64_t most = 0;
  for (const plan::Program *program : programs)
    most = std::max(most, program->transient_bytes());
  transientOffset = alignBuffer(theArtifact.role().persistent_bytes());
  flightOffset = alignBuffer(transientOffset + most);
  feedOffset = alignBuffer(flightOffset + theArtifact.role().flight_bytes());
  uint64_t ahead = fed ? fedAheadOffset(*fed, fed->inputs_size()) : 0;
  ZC_ASSIGN_OR_RETURN(arena, Region::allocate(device, feedOffset + ahead));
  ZC_ASSIGN_OR_RETURN(
      offloaded,
      Region::allocateOffloaded(device,
                                alignBuffer(role().offloaded_bytes()) +
                                    role().offloaded_flight_bytes(),
                                offloadFolder.empty() ? defaultOffloadFolder()
                                                      : offloadFolder));
  return Status();
}

const plan::Program *
Executor::findFed(const std::vector<const plan::Program *> &programs) const {
  const plan::Program *fed =
      programFedAhead(theArtifact.manifest(), theArtifact.role());
  bool runs =
      std::find(programs.begin(), programs.end(), fed) != programs.end();
  return fed && runs && device.capturesPrograms() ? fed : nullptr;
}

Status Executor::prepareProgram(const plan::Program &program,
                                const Slots &slots, int64_t newest) {
  AddressMap map = addressesOf(program, slots, newest);
  Prepared result{&program, slots, newest};
  for (const plan::Instruction &instruction : program.instructions()) {
    Step step{nullptr, nullptr, instruction.stream(), &instruction};
    if (Status status = prepareStep(program, map, step); !status.ok())
      return status.withContext(
          describe(program, result.steps.size(), instruction));
    result.uses[instruction.stream()] = true;
    result.steps.push_back(std::move(step));
  }
  prepared.push_back(std::move(result));
  return Status();
}

Status Executor::prepareStep(const plan::Program &program,
                             const AddressMap &map, Step &step) {
  if (step.instruction->has_collective())
    return device.hostReadsMemory() ? prepareCollective(program, map, step)
                                    : Status(); // by connect()
  const Launch launch = makeLaunch(map, *step.instruction);
  if (isOnHost(*step.instruction)) {
    ZC_ASSIGN_OR_RETURN(auto executable, host->prepare(launch));
    ZC_ASSIGN_OR_RETURN(step.executable,
                        device.onStreams(*host, std::move(executable)));
    return Status();
  }
  ZC_ASSIGN_OR_RETURN(step.executable, device.prepare(launch));
  return Status();
}

Status Executor::prepareCollective(const plan::Program &program,
                                   const AddressMap &map, Step &step) {
  if (!device.hostReadsMemory() && !collectives.areOnDevice())
    step.staged = std::make_unique<StagedBuffers>();
  ZC_ASSIGN_OR_RETURN(
      step.collective,
      collectives.prepare(program, map, *step.instruction, step.staged.get()));
  return Status();
}

Status Executor::connect() {
  if (device.hostReadsMemory())
    return Status();
  ZC_RETURN_IF_ERROR(collectives.connect(device));
  std::vector<const plan::Instruction *> ours;
  for (const Prepared &each : prepared)
    for (const Step &step : each.steps)
      if (step.instruction->has_collective())
        ours.push_back(step.instruction);
  ZC_RETURN_IF_ERROR(collectives.join(ours));
  for (Prepared &each : prepared) {
    AddressMap map = addressesOf(*each.program, each.slots, each.newest);
    for (size_t i = 0; i < each.steps.size(); ++i) {
      Step &step = each.steps[i];
      if (!step.instruction->has_collective())
        continue;
      if (Status status = prepareCollective(*each.program, map, step);
          !status.ok())
        return status.withContext(
            describe(*each.program, i, *step.instruction));
      if (collectives.areOnDevice())
        each.sentOnDevice += step.instruction->collective().sent_bytes();
    }
  }
  return connectLines();
}

/// Where each rank has a device of its own, messages need no host.
Status Executor::connectLines() {
  if (!collectives.areOnDevice() || role().messages_size() == 0)
    return Status();
  lines = std::make_unique<DeviceLines>(device, *theWorld, theMesh);
  return lines->connect(theArtifact, collectives.deviceLibrary(),
                        [this](const plan::Message &message, uint32_t slot) {
                          return addressOf(message, slot);
                        });
}

Status Executor::initialise() {
  ZC_RETURN_IF_ERROR(writeCoordinates());
  const plan::Program *init = theArtifact.program(programs::kInit);
  // All versions are the first one.
  for (int64_t version = std::max(1u, role().versions()); version > 0;) {
    setStepsDone(--version);
    ZC_RETURN_IF_ERROR(loadWeights());
    if (init)
      ZC_RETURN_IF_ERROR(run(*init));
  }
  return Status();
}

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
  // The threads of two streams wait for what is done, not for what is begun.
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

Status Executor::prepareCallsAgain() {
  for (Prepared &each : prepared) {
    const AddressMap map = addressesOf(*each.program, each.slots, each.newest);
    for (Step &step : each.steps)
      if (step.instruction->has_library())
        ZC_RETURN_IF_ERROR(prepareStep(*each.program, map, step));
    each.whole.reset();
  }
  return Status();
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

Status Executor::write(const plan::Program &program, uint32_t index,
                       const void *bytes, const Slots &slots) {
  AddressMap map = addressesOf(program, slots);
  return device.copyIn(map.address(index), bytes,
                       *byteCount(map.buffer(index).type()), kMainStream);
}

Status Executor::read(const plan::Program &program, uint32_t index, void *bytes,
                      const Slots &slots) {
  AddressMap map = addressesOf(program, slots);
  ZC_RETURN_IF_ERROR(device.copyOut(bytes, map.address(index),
                                    *byteCount(map.buffer(index).type()),
                                    kMainStream));
  return device.synchronize(kMainStream);
}

Status Executor::readMessage(const plan::Message &message, uint32_t slot,
                             void *bytes) {
  if (device.hostReadsMemory())
    return Status();
  ZC_RETURN_IF_ERROR(device.copyOut(bytes, addressOf(message, slot),
                                    *byteCount(message.type()), kMainStream));
  return device.synchronize(kMainStream);
}

Status Executor::writeMessage(const plan::Message &message, uint32_t slot,
                              const void *bytes) {
  if (device.hostReadsMemory())
    return Status();
  ZC_RETURN_IF_ERROR(device.copyIn(addressOf(message, slot), bytes,
                                   *byteCount(message.type()), kMainStream));
  return device.synchronize(kMainStream);
}

/// A state's pages lie where whoever writes them first puts them: in the
/// division that kernels use, before one thread fills them from a file.
void Executor::placeOnce(char *state, uint64_t bytes) {
  constexpr uint64_t kSmall = 64 << 10; // one step's settings, among others
  if (bytes > kSmall && placed.insert(state).second)
    device.place(state, bytes);
}

Status Executor::writeState(const plan::State &state, uint64_t offset,
                            const void *data, uint64_t bytes, uint32_t age) {
  char *address = addressOf(state, age);
  placeOnce(address, *byteCount(state.type()));
  return device.copyIn(address + offset, data, bytes, kMainStream);
}

Status Executor::readState(const plan::State &state, uint64_t offset,
                           void *data, uint64_t bytes, uint32_t age) {
  ZC_RETURN_IF_ERROR(
      device.copyOut(data, addressOf(state, age) + offset, bytes, kMainStream));
  return device.synchronize(kMainStream);
}

} // namespace zc
