//===- Target.cpp ---------------------------------------------------------===//
#include "passes/Target/Target.h"

#include "mlir/IR/DialectInterface.h"
#include "passes/Target/Cpu/CpuTarget.h"
#include "passes/Target/Cuda/CudaTarget.h"

#include <map>
#include <memory>
#include <mutex>

using namespace mlir;

namespace zc {

Target::Target(sched::TargetAttr description, WorkspaceBound bound)
    : description(description), bound(std::move(bound)) {
  auto parsed =
      Libraries::parse(description.getLibraries(), description.getDevice());
  if (!parsed) // the command line and zc-opt have parsed it before
    llvm::report_fatal_error(parsed.takeError());
  libraries = std::move(*parsed);
}

bool runsThreadBlocks(StringRef device) { return device == sched::kCudaDevice; }

bool Target::runsThreadBlocks() const {
  return zc::runsThreadBlocks(description.getDevice());
}

namespace {

std::unique_ptr<Target> makeTarget(sched::TargetAttr description,
                                   const WorkspaceBounds &bounds) {
  if (description.getDevice() == sched::kCudaDevice)
    return std::make_unique<CudaTarget>(description, bounds.cuda);
  return std::make_unique<CpuTarget>(description, bounds.cpu);
}

/// The targets of a context, made when they are asked for.
class TargetCache : public DialectInterface::Base<TargetCache> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TargetCache)

  TargetCache(Dialect *dialect, WorkspaceBounds bounds)
      : Base(dialect), bounds(std::move(bounds)) {}

  const Target &get(sched::TargetAttr description) const {
    std::lock_guard<std::mutex> lock(mutex);
    auto &target = targets[description.getAsOpaquePointer()];
    if (!target)
      target = makeTarget(description, bounds);
    return *target;
  }

private:
  WorkspaceBounds bounds;
  mutable std::mutex mutex;
  mutable std::map<const void *, std::unique_ptr<Target>> targets;
};

class TargetExtension
    : public DialectExtension<TargetExtension, sched::SchedDialect> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TargetExtension)

  explicit TargetExtension(WorkspaceBounds bounds)
      : bounds(std::move(bounds)) {}

  void apply(MLIRContext *, sched::SchedDialect *dialect) const override {
    dialect->addInterface(std::make_unique<TargetCache>(dialect, bounds));
  }

private:
  WorkspaceBounds bounds;
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
                                features, "all");
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

void registerTargets(DialectRegistry &registry, WorkspaceBounds bounds) {
  registry.addExtension(TypeID::get<TargetExtension>(),
                        std::make_unique<TargetExtension>(std::move(bounds)));
}

} // namespace zc
