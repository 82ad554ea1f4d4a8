//===- VerifyCollectiveOrder.cpp - --zc-verify-collective-order -----------===//
//
// A collective that some ranks issue before another and some behind it never
// ends, or mixes two values up. All ranks of one role run one program, so that
// what must be compared are the programs of the roles.
//
//===----------------------------------------------------------------------===//
#include "passes/Scheduling/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {
#define GEN_PASS_DEF_VERIFYCOLLECTIVEORDERPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

/// Ranks that differ only along some axes, on one stream: the runtime gives
/// each such group a line of its own.
using Communicator = std::pair<Attribute, unsigned>;
using Order = llvm::MapVector<Communicator, SmallVector<CollectiveOp>>;

} // namespace

static Order orderOf(ProgramOp program) {
  Order order;
  for (auto op : program.getOps<CollectiveOp>())
    order[{op.getAxesAttr(), op.getAsync()}].push_back(op);
  return order;
}

/// Whether two ranks may issue these as one collective.
static bool match(CollectiveOp a, CollectiveOp b) {
  auto sizes = [](CollectiveOp op) {
    auto from = cast<MemRefType>(op.getSource().getType());
    auto to = cast<MemRefType>(op.getDestination().getType());
    return std::tuple(from.getElementType(), from.getNumElements(),
                      to.getNumElements(), op.getRoot(), op.getShift());
  };
  return a.getKind() == b.getKind() && sizes(a) == sizes(b);
}

/// Compares what two roles issue in one communicator.
static LogicalResult compare(ProgramOp first, ArrayRef<CollectiveOp> expected,
                             ProgramOp other, ArrayRef<CollectiveOp> found) {
  for (auto [index, pair] : llvm::enumerate(llvm::zip(expected, found))) {
    CollectiveOp one = std::get<0>(pair), two = std::get<1>(pair);
    if (match(one, two))
      continue;
    InFlightDiagnostic error =
        two.emitOpError() << "is number " << index << " along " << two.getAxes()
                          << " in @" << other.getSymName()
                          << ", but other ranks issue another collective there";
    error.attachNote(one.getLoc())
        << "number " << index << " in @" << first.getSymName();
    return error;
  }
  if (expected.size() == found.size())
    return success();
  ArrayRef<CollectiveOp> longer =
      expected.size() > found.size() ? expected : found;
  CollectiveOp alone = longer[std::min(expected.size(), found.size())];
  return alone.emitOpError()
         << "is issued by the ranks of one of @" << first.getSymName()
         << " and @" << other.getSymName() << " only";
}

static LogicalResult compare(ProgramOp first, ProgramOp other) {
  Order expected = orderOf(first), found = orderOf(other);
  for (auto &[communicator, ops] : expected)
    if (failed(compare(first, ops, other, found.lookup(communicator))))
      return failure();
  for (auto &[communicator, ops] : found)
    if (!expected.contains(communicator) &&
        failed(compare(first, {}, other, ops)))
      return failure();
  return success();
}

namespace {

struct VerifyCollectiveOrderPass
    : impl::VerifyCollectiveOrderPassBase<VerifyCollectiveOrderPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    llvm::MapVector<Attribute, ProgramOp> firsts; // by what they are roles of
    for (auto program : getOperation().getOps<ProgramOp>()) {
      Attribute name = program.getRoleOfAttr();
      if (!name)
        name = program.getSymNameAttr();
      ProgramOp &first = firsts[name];
      if (first && failed(compare(first, program)))
        return signalPassFailure();
      if (!first)
        first = program;
    }
  }
};

} // namespace
} // namespace zc
