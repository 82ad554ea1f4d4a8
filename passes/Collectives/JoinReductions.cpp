//===- JoinReductions.cpp - --zc-join-reductions --------------------------===//
//
// An all-reduce costs a latency per message whatever its size. What is small,
// and needed by nobody before the next one is there, is sent with that. The
// flat vector is not padded: rings cut it as evenly as may be, and no rank
// holds a part of it alone.
//
//===----------------------------------------------------------------------===//
#include "passes/Collectives/Passes.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Analysis/Tensors.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_JOINREDUCTIONSPASS
#include "passes/Collectives/Passes.h.inc"

namespace {

/// All-reduces that become one, in the program's order.
struct Bucket {
  SmallVector<dist::AllReduceOp> members;
  int64_t bytes = 0;
};

/// One program.
class Joiner {
public:
  /// `limit`: the most bytes of gradients that are sent together.
  Joiner(Block &block, int64_t limit) : block(block), limit(limit) {}

  /// Returns how many all-reduces are gone.
  unsigned run();

private:
  /// What goes together: along which axes, what is sent, its element type.
  static Attribute kindOf(dist::AllReduceOp op) {
    Type element = cast<ShapedType>(op.getType()).getElementType();
    return ArrayAttr::get(
        op.getContext(),
        {op.getAxesAttr(), op.getTrafficAttr(), TypeAttr::get(element)});
  }

  bool mayJoin(dist::AllReduceOp op) const;
  void closeWhatIsRead(Operation &op);
  void add(dist::AllReduceOp op);
  void close(Attribute kind);
  void join(MutableArrayRef<dist::AllReduceOp> members);

  Block &block;
  int64_t limit;
  DenseMap<Attribute, Bucket> open; // by kind
  DenseMap<Operation *, Attribute> waiting;
  unsigned numGone = 0;
};

} // namespace

/// What is as large as a bucket is sent where it lies: joined with others it
/// would be copied twice.
bool Joiner::mayJoin(dist::AllReduceOp op) const {
  if (op.getTraffic() == dist::kScalars)
    return true;
  return op.getTraffic() == dist::kGradients && bytesOf(op) < limit;
}

void Joiner::closeWhatIsRead(Operation &op) {
  for (Value operand : op.getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (auto found = waiting.find(producer); found != waiting.end())
        close(found->second);
}

void Joiner::add(dist::AllReduceOp op) {
  Attribute kind = kindOf(op);
  bool isGradient = op.getTraffic() == dist::kGradients;
  if (isGradient && open[kind].bytes + bytesOf(op) > limit)
    close(kind);
  Bucket &bucket = open[kind];
  bucket.members.push_back(op);
  bucket.bytes += bytesOf(op);
  waiting[op] = kind;
}

void Joiner::close(Attribute kind) {
  Bucket bucket = std::move(open[kind]);
  open.erase(kind);
  for (dist::AllReduceOp member : bucket.members)
    waiting.erase(member);
  if (bucket.members.size() > 1)
    join(bucket.members);
}

/// Where the last of them stands, the first moment that all are there.
void Joiner::join(MutableArrayRef<dist::AllReduceOp> members) {
  dist::AllReduceOp last = members.back();
  OpBuilder builder(last);
  SmallVector<Location> locations;
  SmallVector<Value> parts;
  int64_t total = 0;
  for (dist::AllReduceOp member : members) {
    locations.push_back(member.getLoc());
    parts.push_back(reshape(builder, member.getLoc(), member.getInput(),
                            {numElements(member.getType())}));
    total += numElements(member.getType());
  }
  Location loc = builder.getFusedLoc(locations);
  auto type = withShape(last.getType(), {total});
  auto flat = ConcatOp::create(builder, loc, type, parts, /*dim=*/0);
  auto sum = dist::AllReduceOp::create(builder, loc, flat, last.getAxesAttr(),
                                       last.getTrafficAttr());
  if (last.getTraffic() == dist::kGradients) {
    flat->setAttr(kStagingAttr, builder.getUnitAttr());
    sum->setAttr(kStagingAttr, builder.getUnitAttr());
  }
  int64_t offset = 0;
  for (auto [member, part] : llvm::zip(members, parts)) {
    auto slice =
        SliceOp::create(builder, member.getLoc(), part.getType(), sum,
                        ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{1});
    if (Attribute mark = member->getAttr(kGradientsAttr))
      slice->setAttr(kGradientsAttr, mark);
    offset += numElements(member.getType());
    member.getResult().replaceAllUsesWith(
        reshape(builder, member.getLoc(), slice,
                cast<ShapedType>(member.getType()).getShape()));
  }
  numGone += members.size() - 1;
  for (dist::AllReduceOp member : members)
    member.erase();
}

unsigned Joiner::run() {
  // Ops that come in front of the one that is looked at are done with.
  for (Operation &op : llvm::make_early_inc_range(block)) {
    closeWhatIsRead(op);
    if (auto reduction = dyn_cast<dist::AllReduceOp>(op))
      if (mayJoin(reduction))
        add(reduction);
  }
  return numGone; // what is still open nobody reads
}

namespace {

struct JoinReductions : public impl::JoinReductionsPassBase<JoinReductions> {
  using JoinReductionsPassBase::JoinReductionsPassBase;

  void runOnOperation() override {
    if (bucketBytes < 0) {
      getOperation().emitError("bucket-bytes: expected at least 0, found ")
          << bucketBytes.getValue();
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<func::FuncOp>())
      for (Block &block : program.getBody())
        numJoined += Joiner(block, limitOf(block)).run();
  }

private:
  int64_t limitOf(Block &block) {
    int64_t all = 0;
    for (auto op : block.getOps<dist::AllReduceOp>())
      if (op.getTraffic() == dist::kGradients)
        all += bytesOf(op);
    return std::min(bucketBytes.getValue(),
                    all / std::max(int64_t(1), fewest.getValue()));
  }
};

} // namespace
} // namespace zc
