#include "compiler/Driver/Machines.h"

#include "compiler/Driver/ClusterNames.h"
#include "kernels/Calls/Calls.h"
#include "passes/Target/Devices.h"
#include "runtime/Simulate/InstructionTimes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc;

/// Any real link or memory stays far below, in bytes or FLOPs a second: what a
/// cluster says takes no time.
static constexpr double kAtOnce = 1e21;

static FloatAttr rateOf(MLIRContext *context, double perSecond) {
  return Builder(context).getF64FloatAttr(perSecond > 0 ? perSecond : kAtOnce);
}

namespace {

/// Lists `#sched.rate`s of a device.
class Rates {
public:
  Rates(MLIRContext *context, const SimulatedDevice &device, bool allowsTf32)
      : context(context), device(device), allowsTf32(allowsTf32) {}

  ArrayAttr list() {
    add(sched::kKernelWork, plan::F32,
        device.flopsPerSecond[plan::F32] * device.efficiency.kernelFlops);
    for (auto [name, type] : listProductTypes())
      if (type == plan::F32 || device.flopsPerSecond[type] > 0)
        addClasses(type, type);
      else if (type == plan::U8) // multiplied as bfloat16 where there is that
        addClasses(type, plan::BF16);
    return ArrayAttr::get(context, rates);
  }

private:
  void add(StringRef work, plan::DataType type, double flops) {
    rates.push_back(sched::RateAttr::get(context, work, nameOfProductType(type),
                                         rateOf(context, flops)));
  }

  /// Rates of factors of a type, which are multiplied as `computed`.
  void addClasses(plan::DataType type, plan::DataType computed) {
    constexpr int64_t kLarge = 4096;
    MeasuredMatmul product;
    product.m = product.n = product.k = kLarge;
    product.dtype = computed;
    add(kMatmulRate, type, matmulRate(device, allowsTf32, product));
    for (const kernels::CallKind &kind : kernels::getCallKinds())
      for (const kernels::CallRate &rate : kind.rates)
        add(rate.name, type,
            peakOf(device, allowsTf32, computed) *
                shareOf(device.efficiency, rate.name));
  }

  MLIRContext *context;
  const SimulatedDevice &device;
  const bool allowsTf32;
  SmallVector<Attribute> rates;
};

} // namespace

static ArrayAttr listLinks(MLIRContext *context, const Cluster &cluster) {
  Builder builder(context);
  SmallVector<Attribute> links;
  for (const LinkLevel &each : cluster.levels)
    links.push_back(sched::LinkAttr::get(
        context, each.size, builder.getF64FloatAttr(each.latencySeconds),
        rateOf(context, each.bytesPerSecond)));
  return builder.getArrayAttr(links);
}

/// The usual machine with such devices: it has what a file may leave out
/// although it takes time.
static SimulatedDevice usualDevice(const std::string &target) {
  const Result<Cluster> usual =
      loadCluster(getDeviceKind(target).usualMachine.str());
  return usual->device; // a file of zc's own
}

sched::MachineAttr zc::makeMachine(MLIRContext *context, const Cluster &cluster,
                                   int64_t ranks, bool allowsTf32) {
  const SimulatedDevice device = cluster.sharedBy(ranks).device;
  const SimulatedDevice usual = usualDevice(cluster.device.target);
  auto orUsual = [](double own, double other) { return own > 0 ? own : other; };
  Builder builder(context);
  SmallVector<StringRef> ways;
  for (CollectiveWay way : cluster.ways)
    ways.push_back(nameOf(way));
  return sched::MachineAttr::get(
      context, cluster.name, Rates(context, device, allowsTf32).list(),
      rateOf(context, device.bytesPerSecond * device.efficiency.bytes),
      rateOf(context, device.hostBytesPerSecond),
      builder.getF64FloatAttr(
          orUsual(device.hostLatencySeconds, usual.hostLatencySeconds)),
      rateOf(context, orUsual(device.hostMemoryBytesPerSecond,
                              usual.hostMemoryBytesPerSecond)),
      builder.getF64FloatAttr(device.launchSeconds),
      listLinks(context, cluster), builder.getStrArrayAttr(ways),
      /*axes=*/ArrayAttr(), /*sizes=*/DenseI64ArrayAttr());
}

llvm::Expected<sched::MachineAttr>
zc::describeCluster(MLIRContext *context, const MachineRequest &request) {
  const Result<Cluster> cluster = loadCluster(request.cluster);
  if (!cluster.ok())
    return llvm::createStringError(cluster.status().message());
  for (const Status &status : {cluster->checkDevices(request.device),
                               cluster->checkRoom(request.ranks)})
    if (!status.ok())
      return llvm::createStringError(status.message());
  return makeMachine(context, *cluster, request.ranks, request.allowsTf32);
}

Cluster zc::linksOf(sched::MachineAttr machine) {
  Cluster cluster;
  for (auto link : machine.getLinks().getAsRange<sched::LinkAttr>())
    cluster.levels.push_back({"", link.getRanks(),
                              link.getBytes().getValueAsDouble(),
                              link.getSeconds().getValueAsDouble()});
  cluster.ways.clear();
  for (StringRef name : machine.getWays().getAsValueRange<StringAttr>())
    cluster.ways.push_back(*findWay(name)); // #sched.machine is verified
  return cluster;
}
