//===- BroadcastParts.cpp - --zc-broadcast-parts --------------------------===//
//
// A sharding cannot say that one rank of a group holds a value that the others
// want: so all gather the parts of all, and read one. Here, where types are
// those of parts, the rank that has it sends it to the others. It does so at
// the end of the program where nothing but the program's results is made of it:
// then one message holds all (--zc-join-reductions).
//
//===----------------------------------------------------------------------===//
#include "passes/Collectives/Passes.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_BROADCASTPARTSPASS
#include "passes/Collectives/Passes.h.inc"

namespace {

/// The number in its group of the rank that holds all that `slice` reads of the
/// gathered parts, each `rows` long; -1 where several do.
int64_t findHolder(SliceOp slice, int64_t rows) {
  int64_t first = slice.getOffsets().front();
  int64_t count = cast<RankedTensorType>(slice.getType()).getDimSize(0);
  int64_t last = first + (count - 1) * slice.getStrides().front();
  if (count == 0 || first / rows != last / rows)
    return -1;
  return first / rows;
}

/// The rank whose part alone is read of what `gather` makes; -1: there is none.
int64_t findRoot(dist::AllGatherOp gather, int64_t rows) {
  int64_t root = -1;
  for (Operation *user : gather->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    int64_t holder = slice ? findHolder(slice, rows) : -1;
    if (holder < 0 || (root >= 0 && holder != root))
      return -1;
    root = holder;
  }
  return root;
}

/// The broadcast that takes the place of `gather`; null: it stays.
dist::BroadcastOp broadcast(dist::AllGatherOp gather) {
  auto part = cast<RankedTensorType>(gather.getInput().getType());
  int64_t rows = gather.getDim() == 0 ? part.getDimSize(0) : 0;
  int64_t root = rows > 0 ? findRoot(gather, rows) : -1;
  if (root < 0)
    return {};
  OpBuilder builder(gather);
  auto sent = dist::BroadcastOp::create(
      builder, gather.getLoc(), part, gather.getInput(), gather.getAxesAttr(),
      builder.getI64IntegerAttr(root), gather.getTrafficAttr(),
      /*of_server=*/UnitAttr(), /*served=*/FlatSymbolRefAttr());
  for (Operation *user : llvm::make_early_inc_range(gather->getUsers())) {
    auto slice = cast<SliceOp>(user);
    SmallVector<int64_t> offsets(slice.getOffsets());
    offsets.front() -= root * rows;
    if (slice.getType() == part) {
      slice.replaceAllUsesWith(sent.getResult());
      slice.erase();
      continue;
    }
    slice.setOffsets(offsets);
    slice->setOperand(0, sent);
  }
  gather.erase();
  return sent;
}

/// All that is made of `sent`, each op behind those that it reads; nothing
/// where another exchange is among it.
SmallVector<Operation *> findMadeOf(dist::BroadcastOp sent) {
  SetVector<Operation *> made;
  getForwardSlice(sent.getOperation(), &made);
  made.remove_if(
      [](Operation *op) { return op->hasTrait<OpTrait::IsTerminator>(); });
  const bool staysHere = llvm::any_of(made, [&](Operation *op) {
    return isa<dist::CollectiveOpInterface>(op) ||
           op->getBlock() != sent->getBlock();
  });
  if (staysHere)
    return {};
  return SmallVector<Operation *>(made.begin(), made.end());
}

/// First all that is sent, behind it what reads it.
void moveToEnd(ArrayRef<dist::BroadcastOp> sent, Block &block) {
  SmallVector<Operation *> last;
  for (dist::BroadcastOp op : sent)
    if (SmallVector<Operation *> made = findMadeOf(op); !made.empty()) {
      last.append(made);
      op->moveBefore(block.getTerminator());
    }
  for (Operation *op : last)
    op->moveBefore(block.getTerminator());
}

struct BroadcastParts : public impl::BroadcastPartsPassBase<BroadcastParts> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>())
      for (Block &block : program.getBody()) {
        SmallVector<dist::BroadcastOp> sent;
        for (auto gather : llvm::to_vector(block.getOps<dist::AllGatherOp>()))
          if (dist::BroadcastOp op = broadcast(gather))
            sent.push_back(op);
        moveToEnd(sent, block);
      }
  }
};

} // namespace
} // namespace zc
