//===- AnnotateTarget.cpp - --zc-annotate-target --------------------------===//
#include "passes/Target/Libraries.h"
#include "passes/Target/Passes.h"

#include "dialects/Sched/TargetAttr.h"

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
    auto complain = [&] { return module.emitError("target: "); };
    auto target = sched::TargetAttr::getChecked(
        complain, &getContext(), StringRef(device), int64_t(threads),
        names.empty() ? ArrayAttr() : ArrayAttr::get(&getContext(), names),
        StringRef(libraries));
    if (!target)
      return signalPassFailure();
    if (auto parsed = Libraries::parse(libraries, device); !parsed) {
      complain() << llvm::toString(parsed.takeError());
      return signalPassFailure();
    }
    module->setAttr(sched::kTargetAttr, target);
  }
};

} // namespace
} // namespace zc
