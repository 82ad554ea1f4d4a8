// Executor: code, memory and instructions, before anything runs.
#include "runtime/Exec/Executor.h"
#include "runtime/Exec/Instructions.h"
#include "runtime/Exec/LoadCode.h"
#include "runtime/Plan/Feed.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <cstdlib>

namespace zc {

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

} // namespace zc
