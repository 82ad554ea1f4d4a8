#include "runtime/Simulate/TimedPrograms.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/InstructionKind.h"
#include "runtime/Plan/Types.h"
#include "runtime/Simulate/InstructionTimes.h"

#include <algorithm>

namespace zc {
namespace {

std::string join(const AxisNames &axes) {
  std::string text;
  for (const std::string &axis : axes)
    text += (text.empty() ? "" : "+") + axis;
  return text;
}

double bytesOf(const plan::Program &program, const plan::CollectiveCall &call) {
  auto bytes = [&](uint32_t buffer) {
    Result<uint64_t> count = byteCount(program.buffers(int(buffer)).type());
    return count.ok() ? double(*count) : 0.0;
  };
  return std::max(bytes(call.source()), bytes(call.destination()));
}

uint32_t lineOf(const SimulatedDevice &device, uint32_t stream) {
  if (streams::isOfCopies(stream) && device.copiesOneWayAtATime())
    return streams::kFetches;
  return std::min<uint32_t>(stream, streams::kCount - 1);
}

} // namespace

std::vector<int> ranksOf(const Mesh &mesh, int rank,
                         const plan::CollectiveCall &call) {
  std::vector<int> ranks = mesh.group(rank, call.axes());
  if (call.holders_size() == 0)
    return ranks;
  std::vector<int> held;
  for (uint32_t coordinate : call.holders())
    if (coordinate < ranks.size())
      held.push_back(ranks[coordinate]);
  return held;
}

int TimedPrograms::deviceOf(const Mesh &mesh, int rank) const {
  if (placed.empty())
    return rank;
  int64_t device = 0;
  for (const PlacedAxis &axis : placed)
    device += mesh.coordinate(rank, axis.name) * axis.stride;
  return int(device);
}

std::vector<int> TimedPrograms::devicesOf(const Mesh &mesh, int rank,
                                          const plan::CollectiveCall &call) {
  std::vector<int> devices;
  for (int each : ranksOf(mesh, rank, call))
    devices.push_back(deviceOf(mesh, each));
  return devices;
}

Status TimedPrograms::place(const plan::Manifest &manifest, const Mesh &mesh,
                            const std::vector<std::string> &placement) {
  int64_t stride = 1;
  for (auto name = placement.rbegin(); name != placement.rend(); ++name) {
    if (!mesh.has(*name) ||
        std::count(placement.begin(), placement.end(), *name) > 1)
      return makeError(StatusCode::InvalidArgument, "--placement: '", *name,
                       mesh.has(*name) ? "' is named twice"
                                       : "' is no axis of the mesh");
    plan::CollectiveCall axis;
    axis.add_axes(*name);
    placed.push_back({*name, stride});
    stride *= mesh.groupSize(axis.axes());
  }
  if (!placement.empty() && stride != mesh.ranks())
    return makeError(StatusCode::InvalidArgument,
                     "--placement: expected every axis of the mesh");
  for (int i = 0; i < manifest.roles_size(); ++i)
    firstDevices.push_back(deviceOf(mesh, mesh.firstOf(i)));
  return Status();
}

int TimedPrograms::nameExposure(const std::string &name) {
  auto found = std::find(exposures.begin(), exposures.end(), name);
  if (found == exposures.end())
    found = exposures.insert(exposures.end(), name);
  return int(found - exposures.begin());
}

void TimedPrograms::timeCollective(const plan::Manifest &manifest,
                                   const Cluster &cluster, const Mesh &mesh,
                                   uint32_t role, const plan::Program &program,
                                   const plan::CollectiveCall &call,
                                   TimedInstruction &timed) {
  const std::string axes = join(call.axes());
  timed.isCollective = true;
  timed.exposure = nameExposure(axes);
  std::string name = strCat(role, " ", axes);
  for (uint32_t holder : call.holders())
    name += strCat(" ", holder);
  auto [place, isNew] = places.try_emplace(name);
  const int first = mesh.firstOf(int(role));
  if (isNew)
    place->second = placeOf(cluster, devicesOf(mesh, first, call));
  timed.cost = costOnCluster(cluster, call.kind(), call.algorithm(),
                             place->second, bytesOf(program, call));
  if (call.algorithm() == plan::AUTO && hasWays(call.kind()) &&
      place->second.members.back() > 1)
    timed.method = methodOnCluster(cluster, call.kind(), place->second,
                                   bytesOf(program, call));
  if (manifest.roles_size() < 2 ||
      std::count(call.axes().begin(), call.axes().end(), axes::kRole) == 0)
    return;
  std::vector<uint32_t> met;
  for (int other = 0; other < manifest.roles_size(); ++other)
    if (call.holders_size() == 0 ||
        std::count(call.holders().begin(), call.holders().end(),
                   uint32_t(other)) > 0)
      met.push_back(uint32_t(other));
  std::string meeting = axes;
  for (uint32_t each : met)
    meeting += strCat(" ", each);
  auto [known, isFirst] = meetingsByName.emplace(meeting, int(meetings.size()));
  if (isFirst)
    meetings.push_back(met);
  timed.meeting = known->second;
}

TimedInstruction TimedPrograms::time(const plan::Manifest &manifest,
                                     const Cluster &cluster, const Mesh &mesh,
                                     uint32_t role,
                                     const plan::Program &program,
                                     const plan::Instruction &instruction) {
  TimedInstruction timed;
  timed.stream = lineOf(cluster.device, instruction.stream());
  timed.flops = instruction.flops();
  timed.kind = kindOf(instruction);
  if (instruction.has_collective()) {
    timeCollective(manifest, cluster, mesh, role, program,
                   instruction.collective(), timed);
    timed.cost.latencySeconds += cluster.device.launchSeconds;
    return timed;
  }
  if (timed.stream >= streams::kFetches)
    timed.exposure = nameExposure("offload");
  const bool allowsTf32 = manifest.target().matmul_precision() == "tf32";
  timed.seconds = secondsOf(cluster.device, allowsTf32, program, instruction);
  return timed;
}

Result<TimedPrograms>
TimedPrograms::of(const plan::Manifest &manifest, const Cluster &cluster,
                  const std::vector<std::string> &placement) {
  ZC_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::of(manifest));
  if (Status room = cluster.checkRoom(mesh.ranks()); !room.ok())
    return makeError(StatusCode::InvalidArgument, room.message(),
                     ": take a smaller mesh, or a larger `size` of its last "
                     "level");
  TimedPrograms timed;
  ZC_RETURN_IF_ERROR(timed.place(manifest, mesh, placement));
  for (int i = 0; i < manifest.roles_size(); ++i) {
    std::vector<TimedProgram> &programs = timed.roles.emplace_back();
    for (const plan::Program &program : manifest.roles(i).programs()) {
      TimedProgram each;
      each.program = &program;
      for (int at = 0; at < program.instructions_size(); ++at) {
        each.instructions.push_back(timed.time(manifest, cluster, mesh,
                                               uint32_t(i), program,
                                               program.instructions(at)));
        each.streams[each.instructions.back().stream].push_back(uint32_t(at));
      }
      programs.push_back(std::move(each));
    }
  }
  return timed;
}

} // namespace zc
