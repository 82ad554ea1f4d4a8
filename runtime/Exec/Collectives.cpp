#include "runtime/Exec/Collectives.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

namespace zc {

Communicator &Collectives::groupOf(const AxisNames &axes, uint32_t stream) {
  auto &group = groups[{{axes.begin(), axes.end()}, stream}];
  if (!group) // channel 0 is the driver's
    group =
        world.group(mesh.group(world.rank(), axes), uint32_t(groups.size()));
  return *group;
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
  return groupOf(call.axes(), instruction.stream()).prepare(launch);
}

uint64_t Collectives::sentBytes() const {
  uint64_t sum = 0;
  for (const auto &[key, group] : groups)
    sum += group->sentBytes();
  return sum;
}

} // namespace zc
