//===- Target.cpp ---------------------------------------------------------===//
#include "passes/Target/Target.h"

#include "dialects/Sched/SchedDialect.h"
#include "mlir/IR/DialectInterface.h"
#include "passes/Target/Cpu/CpuTarget.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

using namespace mlir;

namespace zc {

Target::Target(sched::TargetAttr description, const TargetServices &services)
    : description(description), services(services),
      kind(getDeviceKind(description.getDevice())) {
  auto parsed =
      Libraries::parse(description.getLibraries(), description.getDevice());
  if (!parsed) // the command line and zc-opt have parsed it before
    llvm::report_fatal_error(parsed.takeError());
  libraries = std::move(*parsed);
}

SmallVector<int64_t> Target::devicesOf(ArrayRef<StringRef> axes) const {
  SmallVector<int64_t> devices = {0};
  sched::MachineAttr machine = description.getMachine();
  if (!machine || !machine.getAxes())
    return devices;
  int64_t stride = 1;
  for (size_t i = machine.getAxes().size(); i-- > 0;) {
    auto name = cast<StringAttr>(machine.getAxes()[i]);
    const int64_t size = machine.getSizes()[i];
    if (llvm::is_contained(axes, name.getValue())) {
      const SmallVector<int64_t> inner = devices;
      for (int64_t place = 1; place < size; ++place)
        for (int64_t each : inner)
          devices.push_back(place * stride + each);
    }
    stride *= size;
  }
  return devices;
}

LinkRates Target::linkOf(ArrayRef<StringRef> axes) const {
  const int64_t last = devicesOf(axes).back();
  auto joins = [&](const MachineLink &link) { return last < link.ranks; };
  const auto *found = llvm::find_if(links(), joins);
  return found == links().end() ? links().back().rates : found->rates;
}

double Target::collectiveSeconds(dist::CollectiveOpInterface op) const {
  SmallVector<StringRef> axes;
  llvm::append_range(axes, op.getAxes().getAsValueRange<StringAttr>());
  const LinkRates link = linkOf(axes);
  int64_t bytes = 0;
  for (Value each : op->getOperands())
    bytes += sched::getByteSize(cast<ShapedType>(each.getType()));
  for (Value each : op->getResults())
    bytes += sched::getByteSize(cast<ShapedType>(each.getType()));
  return link.seconds + double(bytes) / link.bytes;
}

namespace {

/// The targets of a context, made when they are asked for.
class TargetCache : public DialectInterface::Base<TargetCache> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TargetCache)

  TargetCache(Dialect *dialect, TargetServices services)
      : Base(dialect), services(std::move(services)) {}

  const Target &get(sched::TargetAttr description) const {
    std::lock_guard<std::mutex> lock(mutex);
    auto &target = targets[description.getAsOpaquePointer()];
    if (!target)
      target = getDeviceKind(description.getDevice())
                   .makeTarget(description, services);
    return *target;
  }

private:
  TargetServices services;
  mutable std::mutex mutex;
  mutable std::map<const void *, std::unique_ptr<Target>> targets;
};

class TargetExtension
    : public DialectExtension<TargetExtension, sched::SchedDialect> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TargetExtension)

  explicit TargetExtension(TargetServices services)
      : services(std::move(services)) {}

  void apply(MLIRContext *, sched::SchedDialect *dialect) const override {
    dialect->addInterface(std::make_unique<TargetCache>(dialect, services));
  }

private:
  TargetServices services;
};

} // namespace

/// The target of the nearest op that has one, `op` or around it.
static sched::TargetAttr findDescription(Operation *op) {
  for (Operation *each = op; each; each = each->getParentOp())
    if (auto target =
            each->getAttrOfType<sched::TargetAttr>(sched::kTargetAttr))
      return target;
  // The default, for short IR in tests, has the widest vectors.
  MLIRContext *context = op->getContext();
  auto features = ArrayAttr::get(
      context, StringAttr::get(context, CpuTarget::kWideVectors));
  return sched::TargetAttr::get(context, sched::kCpuDevice, /*threads=*/1,
                                features, "all", sched::MachineAttr());
}

const Target &getTarget(Operation *op) {
  auto *dialect = op->getContext()->getLoadedDialect<sched::SchedDialect>();
  auto *cache =
      dialect ? dialect->getRegisteredInterface<TargetCache>() : nullptr;
  if (!cache)
    llvm::report_fatal_error("a pass that asks for the target must depend on "
                             "the sched dialect, and targets be registered");
  return cache->get(findDescription(op));
}

void registerTargets(DialectRegistry &registry, TargetServices services) {
  registry.addExtension(TypeID::get<TargetExtension>(),
                        std::make_unique<TargetExtension>(std::move(services)));
}

} // namespace zc
