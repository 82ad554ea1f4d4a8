#include "runtime/Exec/Executor.h"
#include "runtime/Exec/Instructions.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <set>

namespace zc {

namespace {

constexpr StreamId kMainStream = 0;

std::vector<std::string> featuresOf(const plan::CodeObject &object) {
  return {object.features().begin(), object.features().end()};
}

/// Where an instruction stands and comes from, for messages.
std::string describe(const plan::Program &program, size_t index,
                     const plan::Instruction &instruction) {
  return strCat("program '", program.name(), "', instruction ", index, " (",
                instruction.label(), ")");
}

} // namespace

Result<std::unique_ptr<Executor>>
Executor::prepare(Device &device, const Artifact &artifact,
                  const std::vector<std::string> &programs) {
  std::unique_ptr<Executor> executor(new Executor(device, artifact));
  ZC_RETURN_IF_ERROR(executor->loadCode());
  std::vector<const plan::Program *> found;
  for (const std::string &name : programs)
    if (const plan::Program *program = artifact.program(name))
      found.push_back(program);
  ZC_RETURN_IF_ERROR(executor->allocate(found));
  for (const plan::Program *program : found)
    ZC_RETURN_IF_ERROR(executor->prepareProgram(*program));
  return executor;
}

/// Of the code objects that this machine can run, the one that asks for most.
Status Executor::loadCode() {
  const plan::CodeObject *best = nullptr;
  Status refused;
  for (const plan::CodeObject &object :
       theArtifact.manifest().target().code()) {
    Status status = device.checkFeatures(featuresOf(object));
    if (!status.ok())
      refused =
          status.withContext(strCat("'", theArtifact.path(), "': code for '",
                                    object.arch(), "' cannot run here"));
    else if (!best || object.features_size() > best->features_size())
      best = &object;
  }
  if (!best)
    return refused.ok()
               ? Status()
               : Status(refused.code(), refused.message() +
                                            "; compile the model for this "
                                            "machine (zc compile --cpu-arch)");
  ZC_ASSIGN_OR_RETURN(std::string_view bytes, theArtifact.code(*best));
  return device.loadCode({best->entry(), bytes});
}

Status Executor::allocate(const std::vector<const plan::Program *> &programs) {
  uint64_t most = 0;
  for (const plan::Program *program : programs)
    most = std::max(most, program->transient_bytes());
  ZC_ASSIGN_OR_RETURN(
      persistent,
      Region::allocate(device, theArtifact.manifest().persistent_bytes()));
  ZC_ASSIGN_OR_RETURN(transient, Region::allocate(device, most));
  return Status();
}

Status Executor::prepareProgram(const plan::Program &program) {
  AddressMap map(program, persistent.base(), transient.base());
  Prepared result{&program, {}};
  for (const plan::Instruction &instruction : program.instructions()) {
    auto executable = device.prepare(makeLaunch(map, instruction));
    if (!executable.ok())
      return executable.status().withContext(
          describe(program, result.steps.size(), instruction));
    result.steps.push_back(
        {std::move(*executable), instruction.stream(), &instruction});
  }
  prepared.push_back(std::move(result));
  return Status();
}

Status Executor::initialise() {
  ZC_RETURN_IF_ERROR(loadWeights());
  if (const plan::Program *init = theArtifact.program("init"))
    return run(*init);
  return Status();
}

/// Straight from the mapped file into the region, letting go of what is read.
Status Executor::loadWeights() {
  constexpr size_t kChunk = 8u << 20;
  for (const plan::State &state : theArtifact.manifest().states()) {
    std::string_view bytes = theArtifact.initialBytes(state);
    for (size_t at = 0; at < bytes.size(); at += kChunk) {
      std::string_view part = bytes.substr(at, kChunk);
      ZC_RETURN_IF_ERROR(writeState(state, at, part.data(), part.size()));
      theArtifact.archive().release(part);
    }
  }
  return Status();
}

Status Executor::launch(const plan::Program &program, Step &step) {
  if (observers.empty())
    return device.launch(*step.executable, step.stream);
  auto begin = InstructionObserver::Clock::now();
  ZC_RETURN_IF_ERROR(device.launch(*step.executable, step.stream));
  ZC_RETURN_IF_ERROR(device.synchronize(step.stream));
  auto end = InstructionObserver::Clock::now();
  for (InstructionObserver *observer : observers)
    observer->ran(program, *step.instruction, begin, end);
  return Status();
}

Status Executor::run(const plan::Program &program) {
  auto found =
      std::find_if(prepared.begin(), prepared.end(),
                   [&](const Prepared &p) { return p.program == &program; });
  assert(found != prepared.end() && "only prepared programs can run");
  for (size_t i = 0; i < found->steps.size(); ++i) {
    Step &step = found->steps[i];
    if (Status status = launch(program, step); !status.ok())
      return status.withContext(describe(program, i, *step.instruction));
  }
  return device.synchronize(kMainStream);
}

Status Executor::write(const plan::Program &program, uint32_t index,
                       const void *bytes) {
  const plan::Buffer &buffer = program.buffers(index);
  return device.copyIn(base(buffer.space()) + buffer.offset(), bytes,
                       *byteCount(buffer.type()), kMainStream);
}

Status Executor::read(const plan::Program &program, uint32_t index,
                      void *bytes) {
  const plan::Buffer &buffer = program.buffers(index);
  ZC_RETURN_IF_ERROR(device.copyOut(bytes,
                                    base(buffer.space()) + buffer.offset(),
                                    *byteCount(buffer.type()), kMainStream));
  return device.synchronize(kMainStream);
}

Status Executor::writeState(const plan::State &state, uint64_t offset,
                            const void *data, uint64_t bytes) {
  return device.copyIn(persistent.base() + state.offset() + offset, data, bytes,
                       kMainStream);
}

Status Executor::readState(const plan::State &state, uint64_t offset,
                           void *data, uint64_t bytes) {
  ZC_RETURN_IF_ERROR(device.copyOut(
      data, persistent.base() + state.offset() + offset, bytes, kMainStream));
  return device.synchronize(kMainStream);
}

} // namespace zc
