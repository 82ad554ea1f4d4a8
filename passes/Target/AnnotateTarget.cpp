//===- AnnotateTarget.cpp - --zc-annotate-target --------------------------===//
#include "passes/Target/Libraries.h"
#include "passes/Target/Passes.h"

#include "dialects/Sched/TargetAttr.h"
#include "mlir/AsmParser/AsmParser.h"
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
    FailureOr<sched::MachineAttr> described = parseMachine();
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
  /// The described machine; null: none is given. Fails with a diagnostic.
  FailureOr<sched::MachineAttr> parseMachine() {
    if (machine.empty())
      return sched::MachineAttr();
    auto parsed = dyn_cast_or_null<sched::MachineAttr>(
        parseAttribute(machine, &getContext()));
    if (!parsed)
      return getOperation().emitError("target: expected a #sched.machine, ")
             << "found '" << StringRef(machine) << "'";
    return parsed;
  }
};

} // namespace
} // namespace zc
