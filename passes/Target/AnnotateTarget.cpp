//===- AnnotateTarget.cpp - --zc-annotate-target --------------------------===//
#include "passes/Target/Libraries.h"
#include "passes/Target/Passes.h"

#include "dialects/Sched/TargetAttr.h"
#include "passes/Target/Target.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zc {
#define GEN_PASS_DEF_ANNOTATETARGETPASS
#include "passes/Target/Passes.h.inc"

namespace {

struct AnnotateTarget : public impl::AnnotateTargetPassBase<AnnotateTarget> {
  using AnnotateTargetPassBase::AnnotateTargetPassBase;

  void runOnOperation() override {
    SmallVector<Attribute> names;
    for (const std::string &feature : features)
      names.push_back(StringAttr::get(&getContext(), feature));
    FailureOr<sched::MachineAttr> described = describe();
    if (failed(described))
      return signalPassFailure();
    auto target = sched::TargetAttr::getChecked(
        [&] { return complain(); }, &getContext(), StringRef(device),
        int64_t(threads),
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
    getOperation()->setAttr(sched::kTargetAttr, target);
  }

private:
  InFlightDiagnostic complain() { return getOperation().emitError("target: "); }

  /// Appends the axis and its size to `names` and `sizes`, and multiplies
  /// `ranks` by the size.
  LogicalResult addAxis(StringRef axis, SmallVector<Attribute> &names,
                        SmallVector<int64_t> &sizes, int64_t &ranks) {
    auto [name, size] = axis.split('=');
    if (name.empty() || size.getAsInteger(10, sizes.emplace_back()) ||
        sizes.back() < 1)
      return complain() << "expected AXIS=SIZE, found '" << axis << "'";
    Attribute attribute = StringAttr::get(&getContext(), name);
    if (llvm::is_contained(names, attribute))
      return complain() << "expected each axis once, found '" << name
                        << "' twice";
    names.push_back(attribute);
    if (llvm::MulOverflow(ranks, sizes.back(), ranks))
      return complain() << "expected axes of fewer than 2^63 ranks together";
    return success();
  }

  /// The cluster's machine with the mesh's axes; null: none is named. Fails
  /// with a diagnostic.
  FailureOr<sched::MachineAttr> describe() {
    if (cluster.empty() && axes.empty() && !allowsTf32)
      return sched::MachineAttr();
    if (cluster.empty())
      return complain() << "expected a cluster with "
                        << (allowsTf32 ? "tf32" : "axes")
                        << ", whose machine has them; found none";
    SmallVector<Attribute> names;
    SmallVector<int64_t> sizes;
    int64_t ranks = 1;
    for (StringRef axis : axes)
      if (failed(addAxis(axis, names, sizes, ranks)))
        return failure();
    auto machine =
        describeMachine(&getContext(), {cluster, device, ranks, allowsTf32});
    if (!machine)
      return complain() << llvm::toString(machine.takeError());
    if (names.empty())
      return *machine;
    return withAxes(*machine, names, sizes);
  }

  FailureOr<sched::MachineAttr> withAxes(sched::MachineAttr machine,
                                         ArrayRef<Attribute> names,
                                         ArrayRef<int64_t> sizes) {
    auto whole = sched::MachineAttr::getChecked(
        [&] { return complain(); }, &getContext(), machine.getName(),
        machine.getRates(), machine.getBytes(), machine.getCopy(),
        machine.getCopySeconds(), machine.getHost(), machine.getLaunch(),
        machine.getLinks(), machine.getWays(),
        ArrayAttr::get(&getContext(), names),
        DenseI64ArrayAttr::get(&getContext(), sizes));
    if (!whole)
      return failure(); // which says why
    return whole;
  }
};

} // namespace
} // namespace zc
