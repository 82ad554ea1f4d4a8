//===- Target.cpp ---------------------------------------------------------===//
#include "passes/Target/Target.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Sched/SchedDialect.h"
#include "mlir/IR/DialectInterface.h"
#include "passes/Target/Cpu/CpuTarget.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

using namespace mlir;

namespace zc {

static SmallVector<JoinedCall> listJoined(const DeviceKind &device,
                                          const TargetServices &services) {
  return services.joinedCalls ? services.joinedCalls(device)
                              : SmallVector<JoinedCall>();
}

SmallVector<LibraryName> listLibraries(StringRef device,
                                       const TargetServices &services) {
  const DeviceKind &kind = getDeviceKind(device);
  SmallVector<LibraryName> names(kind.libraries());
  for (const JoinedCall &each : listJoined(kind, services))
    names.push_back({each.library});
  return names;
}

StringRef Target::joinedLibrary(StringRef kind) const {
  for (const JoinedCall &each : listJoined(device(), services))
    if (each.kind == kind && has(each.library))
      return each.library;
  return "";
}

/// The described machine, or the usual one with such devices; null: no service
/// knows it.
static sched::MachineAttr findMachine(sched::TargetAttr description,
                                      const TargetServices &services) {
  if (description.getMachine())
    return description.getMachine();
  if (!services.describe)
    return {};
  const DeviceKind &kind = getDeviceKind(description.getDevice());
  auto machine = services.describe(description.getContext(),
                                   {kind.usualMachine.str(), kind.name.str()});
  if (!machine) // a file of zc's own
    llvm::report_fatal_error(machine.takeError());
  return *machine;
}

Target::Target(sched::TargetAttr description, const TargetServices &services)
    : description(description), services(services),
      kind(getDeviceKind(description.getDevice())),
      machine(findMachine(description, services)),
      machineRates(machine ? std::make_optional<MachineRates>(machine)
                           : std::nullopt),
      machineLinks(machine ? readLinks(machine) : SmallVector<MachineLink>()),
      collectiveTime(machine && services.collectiveTime
                         ? services.collectiveTime(machine)
                         : CollectiveTime()) {
  auto parsed =
      Libraries::parse(description.getLibraries(), description.getDevice(),
                       listLibraries(description.getDevice(), services));
  if (!parsed) // the command line and zc-opt have parsed it before
    llvm::report_fatal_error(parsed.takeError());
  libraries = std::move(*parsed);
}

/// The devices of the first rank and of those that differ from it along the
/// axes that `isAlong` picks, ascending: a further axis is an outer one.
static SmallVector<int64_t>
listDevices(sched::MachineAttr machine,
            llvm::function_ref<bool(StringRef)> isAlong) {
  SmallVector<int64_t> devices = {0};
  int64_t stride = 1;
  for (size_t i = machine.getAxes().size(); i-- > 0;) {
    const int64_t size = machine.getSizes()[i];
    if (isAlong(cast<StringAttr>(machine.getAxes()[i]).getValue())) {
      const SmallVector<int64_t> inner = devices;
      for (int64_t place = 1; place < size; ++place)
        for (int64_t each : inner)
          devices.push_back(place * stride + each);
    }
    stride *= size;
  }
  return devices;
}

static SmallVector<int64_t> pickPlaces(ArrayRef<int64_t> group,
                                       ArrayRef<int64_t> places) {
  if (places.empty())
    return SmallVector<int64_t>(group);
  SmallVector<int64_t> picked;
  for (int64_t each : places)
    if (size_t(each) < group.size())
      picked.push_back(group[each]);
  llvm::sort(picked);
  return picked;
}

/// The innermost of the links that joins devices `first` to `last`.
static size_t findLevel(ArrayRef<MachineLink> links, int64_t first,
                        int64_t last) {
  for (size_t level = 0; level + 1 < links.size(); ++level)
    if (first / links[level].ranks == last / links[level].ranks)
      return level;
  return links.size() - 1;
}

SmallVector<int64_t> Target::devicesOf(ArrayRef<StringRef> axes,
                                       ArrayRef<int64_t> places,
                                       int64_t ranks) const {
  if (!machine.getAxes())
    return pickPlaces(llvm::to_vector(llvm::seq<int64_t>(0, ranks)), places);
  auto isAlong = [&](StringRef axis) { return llvm::is_contained(axes, axis); };
  auto isBeside = [&](StringRef axis) { return !isAlong(axis); };
  SmallVector<int64_t> group =
      pickPlaces(listDevices(machine, isAlong), places);
  auto levelOf = [&](int64_t begin) {
    return findLevel(links(), begin + group.front(), begin + group.back());
  };
  const SmallVector<int64_t> begins = listDevices(machine, isBeside);
  const int64_t worst = *llvm::max_element(
      begins, [&](int64_t a, int64_t b) { return levelOf(a) < levelOf(b); });
  for (int64_t &each : group)
    each += worst;
  return group;
}

SmallVector<int64_t> Target::devicesOf(Operation *collective) const {
  ArrayAttr names = cast<dist::CollectiveOpInterface>(collective).getAxes();
  SmallVector<StringRef> axes(names.getAsValueRange<StringAttr>());
  auto holders = collective->getAttrOfType<DenseI64ArrayAttr>("holders");
  dist::MeshAttr mesh = dist::getMesh(collective);
  return devicesOf(axes, holders ? holders.asArrayRef() : ArrayRef<int64_t>(),
                   mesh ? dist::getGroupSize(mesh, names) : 1);
}

const LinkRates &Target::linkAmong(ArrayRef<int64_t> devices) const {
  return links()[findLevel(links(), devices.front(), devices.back())].rates;
}

LinkRates Target::linkOf(ArrayRef<StringRef> axes) const {
  return linkAmong(devicesOf(axes));
}

LinkRates Target::linkBetween(StringRef axis, int64_t from, int64_t to) const {
  const int64_t places[] = {from, to};
  return linkAmong(devicesOf(axis, places, std::max(from, to) + 1));
}

/// A message of all that a rank reads and writes.
static double timeMessage(const LinkRates &link, Operation *op) {
  auto sizeOf = [](Value each) {
    return sched::getByteSize(cast<ShapedType>(each.getType()));
  };
  int64_t bytes = 0;
  for (Value each : op->getOperands())
    bytes += sizeOf(each);
  for (Value each : op->getResults())
    bytes += sizeOf(each);
  return link.seconds + double(bytes) / link.bytes;
}

double Target::collectiveSeconds(Operation *op) const {
  const SmallVector<int64_t> devices = devicesOf(op);
  return collectiveTime ? collectiveTime(op, devices)
                        : timeMessage(linkAmong(devices), op);
}

namespace {

/// The targets of a context, made when they are asked for.
class TargetCache : public DialectInterface::Base<TargetCache> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TargetCache)

  TargetCache(Dialect *dialect, TargetServices services)
      : Base(dialect), services(std::move(services)) {}

  const TargetServices &getServices() const { return services; }

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

static const TargetCache &getCache(MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<sched::SchedDialect>();
  auto *cache =
      dialect ? dialect->getRegisteredInterface<TargetCache>() : nullptr;
  if (!cache)
    llvm::report_fatal_error("a pass that asks for the target must depend on "
                             "the sched dialect, and targets be registered");
  return *cache;
}

const TargetServices &getServices(MLIRContext *context) {
  return getCache(context).getServices();
}

const Target &getTarget(Operation *op) {
  return getCache(op->getContext()).get(findDescription(op));
}

llvm::Expected<sched::MachineAttr>
describeMachine(MLIRContext *context, const MachineRequest &request) {
  const TargetServices &services = getServices(context);
  if (!services.describe)
    return llvm::createStringError(
        "no service describes machines here: cluster '%s' is not known",
        request.cluster.c_str());
  return services.describe(context, request);
}

void registerTargets(DialectRegistry &registry, TargetServices services) {
  registry.addExtension(TypeID::get<TargetExtension>(),
                        std::make_unique<TargetExtension>(std::move(services)));
}

} // namespace zc
