#include "compiler/Driver/TargetServices.h"

#include "compiler/Driver/Machines.h"
#include "compiler/Export/CallDescription.h"
#include "compiler/Export/CollectiveShape.h"
#include "dialects/Dist/DistDialect.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Simulate/CollectiveTimes.h"

using namespace mlir;
using namespace zc;

/// The collective as which an op ends; none where it sends nothing.
static std::optional<sched::CollectiveKind> kindOf(Operation *op) {
  if (isa<dist::RoleSumOp>(op))
    return sched::CollectiveKind::AllReduce;
  return sched::symbolizeCollectiveKind(op->getName().stripDialect());
}

static std::optional<CollectiveShape>
shapeOf(dist::CollectiveOpInterface collective) {
  Operation *op = collective;
  std::optional<sched::CollectiveKind> kind = kindOf(op);
  if (!kind)
    return std::nullopt;
  return getCollectiveShape(op, *kind, collective.getAxes(),
                            cast<ShapedType>(op->getOperand(0).getType()),
                            cast<ShapedType>(op->getResult(0).getType()));
}

static uint64_t boundWorkspace(const DeviceKind &device, Operation *op,
                               int64_t threads) {
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op)) {
    std::optional<CollectiveShape> shape = shapeOf(collective);
    return shape ? costOf(*shape).workspaceBytes : 0;
  }
  std::optional<DescribedCall> described = describeOp(op);
  if (!described)
    return 0;
  const kernels::CallKind &kind = *described->kind;
  return device.isHost ? kind.cpuWorkspace(described->call, int(threads))
                       : kind.cudaWorkspace(described->call);
}

static SmallVector<JoinedCall> listJoinedCalls(const DeviceKind &device) {
  SmallVector<JoinedCall> joined;
  for (const kernels::CallKind &kind : kernels::getCallKinds()) {
    const StringRef library =
        device.isHost ? kind.cpuLibrary : kind.cudaLibrary;
    if (!library.empty())
      joined.push_back({kind.name, library});
  }
  return joined;
}

/// The class of what the room of an op's library calls says of it. An op that
/// no library could compute is generated code's.
static WorkClass classify(Operation *op) {
  std::optional<DescribedCall> described = describeOp(op);
  if (!described || !described->kind->check(described->call).empty())
    return {};
  const kernels::CallWork work = described->kind->workOf(described->call);
  if (work.rate.empty())
    return {};
  return {std::string(work.rate), nameOfProductType(dataType(work.type))};
}

static CollectiveTime timeOn(sched::MachineAttr machine) {
  auto cluster = std::make_shared<const Cluster>(linksOf(machine));
  return [cluster](Operation *op, ArrayRef<int64_t> devices) -> double {
    std::optional<CollectiveShape> shape =
        shapeOf(cast<dist::CollectiveOpInterface>(op));
    if (!shape || devices.size() < 2)
      return 0;
    const GroupPlace place =
        placeOf(*cluster, std::vector<int>(devices.begin(), devices.end()));
    return costOnCluster(*cluster, shape->kind, shape->algorithm, place,
                         double(shape->elements * shape->elementBytes))
        .seconds(*cluster);
  };
}

TargetServices zc::makeTargetServices() {
  return {boundWorkspace, listJoinedCalls, classify, timeOn, describeCluster};
}
