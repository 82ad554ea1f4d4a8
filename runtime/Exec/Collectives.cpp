#include "runtime/Exec/Collectives.h"
#include "runtime/Base/Log.h"
#include "runtime/Comm/DeviceCommunicator.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <array>
#include <set>

namespace zc {

Status Collectives::connect(Device &given) {
  using Identity = std::array<char, 64>;
  if (world.size() == 1)
    return Status();
  Identity mine = {};
  std::string name = given.identity();
  std::copy_n(name.begin(), std::min(name.size(), mine.size() - 1),
              mine.begin());
  std::vector<Identity> all(size_t(world.size()));
  ZC_RETURN_IF_ERROR(
      world.all().allGather(mine.data(), all.data(), sizeof(Identity)));
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) == all.end()) {
    library = given.collectiveLibrary();
    device = &given;
  } else if (world.isFirst()) {
    logWarning("ranks share a device: what they send goes through the host, "
               "for tests; give every rank a device of its own");
  }
  return Status();
}

Result<std::unique_ptr<Communicator>>
Collectives::makeGroup(std::vector<int> members, uint32_t channel,
                       uint32_t stream) {
  if (!areOnDevice())
    return world.group(std::move(members), channel);
  ZC_ASSIGN_OR_RETURN(void *native, device->nativeStream(stream));
  return joinDeviceGroup(world, members, channel, library, native);
}

Collectives::Line Collectives::Line::of(const plan::Instruction &instruction) {
  const plan::CollectiveCall &call = instruction.collective();
  return {{call.axes().begin(), call.axes().end()},
          {call.holders().begin(), call.holders().end()},
          instruction.stream()};
}

Collectives::Collectives(World &world, const Mesh &mesh,
                         const plan::Manifest &manifest)
    : world(world), mesh(mesh) {
  for (const plan::Role &role : manifest.roles())
    for (const plan::Program &program : role.programs())
      for (const plan::Instruction &instruction : program.instructions())
        if (instruction.has_collective())
          channels[Line::of(instruction)] = 0;
  uint32_t next = 0;
  for (auto &[line, channel] : channels)
    channel = ++next;
}

/// The ranks that differ along the axes, and whose coordinates take
/// part.
std::vector<int> Collectives::membersOf(const Line &line) const {
  AxisNames axes;
  for (const std::string &axis : line.axes)
    axes.Add(std::string(axis));
  std::vector<int> all = mesh.group(world.rank(), axes);
  if (line.holders.empty())
    return all;
  std::vector<int> members;
  for (uint32_t holder : line.holders)
    members.push_back(all[holder]);
  return members;
}

Result<Communicator *> Collectives::groupOf(const Line &line) {
  auto &group = groups[line];
  if (!group) {
    ZC_ASSIGN_OR_RETURN(
        group, makeGroup(membersOf(line), channels.at(line), line.stream));
  }
  return group.get();
}

Status
Collectives::join(const std::vector<const plan::Instruction *> &collectives) {
  std::set<Line> lines;
  for (const plan::Instruction *instruction : collectives)
    lines.insert(Line::of(*instruction));
  for (const Line &line : lines)
    ZC_RETURN_IF_ERROR(groupOf(line).status());
  return Status();
}

Status Collectives::check() {
  for (auto &[key, group] : groups)
    ZC_RETURN_IF_ERROR(group->check());
  return Status();
}

void Collectives::abort() {
  for (auto &[key, group] : groups)
    group->abort();
}

/// Puts host memory in the place of the device's.
static void stage(const AddressMap &map, const plan::CollectiveCall &call,
                  CollectiveLaunch &launch, StagedBuffers &staged) {
  auto bytes = [&](uint32_t buffer) {
    return *byteCount(map.buffer(buffer).type());
  };
  staged.deviceSource = map.address(call.source());
  staged.deviceDestination = map.address(call.destination());
  staged.source.resize(bytes(call.source()));
  launch.source = staged.source.data();
  if (!staged.inPlace())
    staged.destination.resize(bytes(call.destination()));
  launch.destination = staged.result();
  if (!call.has_workspace())
    return;
  staged.workspace.resize(bytes(call.workspace()));
  launch.workspace = staged.workspace.data();
}

Result<std::unique_ptr<Collective>>
Collectives::prepare(const plan::Program &program, const AddressMap &map,
                     const plan::Instruction &instruction,
                     StagedBuffers *staged) {
  const plan::CollectiveCall &call = instruction.collective();
  CollectiveLaunch launch;
  launch.shape = shapeOf(program, call, mesh);
  launch.type = elementType(map.buffer(call.source()).type().dtype());
  launch.reduction =
      call.reduction() == plan::MAX ? Reduction::Max : Reduction::Sum;
  launch.source = map.address(call.source());
  launch.destination = map.address(call.destination());
  if (call.has_workspace())
    launch.workspace = map.address(call.workspace());
  if (staged)
    stage(map, call, launch, *staged);
  ZC_ASSIGN_OR_RETURN(Communicator * group, groupOf(Line::of(instruction)));
  return group->prepare(launch);
}

uint64_t Collectives::sentBytes() const {
  uint64_t sum = 0;
  for (const auto &[key, group] : groups)
    sum += group->sentBytes();
  return sum;
}

} // namespace zc
