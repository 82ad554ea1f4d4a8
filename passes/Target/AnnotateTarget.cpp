//===- AnnotateTarget.cpp - --zc-annotate-target --------------------------===//
#include "passes/Target/Libraries.h"
#include "passes/Target/Passes.h"

#include "dialects/Sched/TargetAttr.h"
#include "passes/Target/Target.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_ANNOTATETARGETPASS
#include "passes/Target/Passes.h.inc"

namespace {

struct AnnotateTarget : public impl::AnnotateTargetPassBase<AnnotateTarget> {
  using AnnotateTargetPassBase::AnnotateTargetPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Attribute> names;
    for (const std::string &feature : features)
      names.push_back(StringAttr::get(&getContext(), feature));
    FailureOr<sched::MachineAttr> described = describe();
    if (failed(described))
      return signalPassFailure();
    auto complain = [&] { return module.emitError("target: "); };
    auto target = sched::TargetAttr::getChecked(
        complain, &getContext(), StringRef(device), int64_t(threads),
        names.empty() ? ArrayAttr() : ArrayAttr::get(&getContext(), names),
        StringRef(libraries), *described);
    if (!target)
      return signalPassFailure();
    auto parsed = Libraries::parse(
        libraries, device, listLibraries(device, getServices(&getContext())));
    if (!parsed) {
      complain() << llvm::toString(parsed.takeError());
      return signalPassFailure();
    }
    module->setAttr(sched::kTargetAttr, target);
  }

private:
  /// The cluster's machine with the mesh's axes; null: none is named. Fails
  /// with a diagnostic.
  FailureOr<sched::MachineAttr> describe() {
    if (cluster.empty())
      return sched::MachineAttr();
    auto complain = [&] { return getOperation().emitError("target: "); };
    SmallVector<Attribute> names;
    SmallVector<int64_t> sizes;
    int64_t ranks = 1;
    for (StringRef axis : axes) {
      auto [name, size] = axis.split('=');
      if (size.getAsInteger(10, sizes.emplace_back()) || sizes.back() < 1)
        return complain() << "expected AXIS=SIZE, found '" << axis << "'";
      names.push_back(StringAttr::get(&getContext(), name));
      ranks *= sizes.back();
    }
    auto machine = describeMachine(&getContext(), {cluster, ranks, allowsTf32});
    if (!machine)
      return complain() << llvm::toString(machine.takeError());
    if (names.empty())
      return *machine;
    return sched::MachineAttr::getChecked(
        complain, &getContext(), machine->getName(), machine->getRates(),
        machine->getBytes(), machine->getCopy(), machine->getCopySeconds(),
        machine->getHost(), machine->getLaunch(), machine->getLinks(),
        machine->getWays(), ArrayAttr::get(&getContext(), names),
        DenseI64ArrayAttr::get(&getContext(), sizes));
  }
};

} // namespace
} // namespace zc
