//===- JoinReductions.cpp - --zc-join-reductions --------------------------===//
//
// An all-reduce costs a latency per message whatever its size. What is small,
// and needed by nobody before the next one is there, is sent with that. The
// flat vector is not padded: rings cut it as evenly as may be, and no rank
// holds a part of it alone. Gradients that are reduced in a wider type are
// joined in their own and widened together.
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

/// An all-reduce, and what makes it of another type than the gradient's.
struct Reduction {
  dist::AllReduceOp op;
  ConvertOp widened, narrowed; // both or none

  explicit Reduction(dist::AllReduceOp op) : op(op) {
    auto before = op.getInput().getDefiningOp<ConvertOp>();
    if (!before || !before->hasOneUse() || !op->hasOneUse())
      return;
    auto after = dyn_cast<ConvertOp>(*op->user_begin());
    if (!after || after.getType() != before.getInput().getType())
      return;
    widened = before;
    narrowed = after;
  }

  Value getInput() { return widened ? widened.getInput() : op.getInput(); }
  Operation *getLast() { return narrowed ? narrowed : op.getOperation(); }
  Value getResult() { return getLast()->getResult(0); }

  /// What goes together: along which axes, what is sent, the element types.
  Attribute getKind() {
    auto element = [](Value value) {
      return TypeAttr::get(getElementTypeOrSelf(value.getType()));
    };
    Builder builder(op.getContext());
    return builder.getArrayAttr(
        {op.getAxesAttr(),
         builder.getDenseI64ArrayAttr(
             op.getHolders().value_or(ArrayRef<int64_t>())),
         op.getTrafficAttr(), element(op.getResult()), element(getResult())});
  }
};

/// All-reduces that become one, in the program's order.
struct Bucket {
  SmallVector<Reduction> members;
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
  bool mayJoin(dist::AllReduceOp op) const;
  void closeWhatIsRead(Operation &op);
  void add(Reduction reduction);
  void close(Attribute kind);
  void join(MutableArrayRef<Reduction> members);
  Value reduce(OpBuilder &builder, Location loc, Reduction &like, Value flat);

  Block &block;
  int64_t limit;
  DenseMap<Attribute, Bucket> open; // by kind
  DenseMap<Operation *, Attribute> waiting;
  SmallVector<Operation *> joined; // users before what they use
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
  if (waiting.contains(&op))
    return; // the end of what waits
  for (Value operand : op.getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (auto found = waiting.find(producer); found != waiting.end())
        close(found->second);
}

void Joiner::add(Reduction reduction) {
  Attribute kind = reduction.getKind();
  int64_t bytes = bytesOf(reduction.op);
  bool isGradient = reduction.op.getTraffic() == dist::kGradients;
  if (isGradient && open[kind].bytes + bytes > limit)
    close(kind);
  Bucket &bucket = open[kind];
  bucket.members.push_back(reduction);
  bucket.bytes += bytes;
  waiting[reduction.op] = waiting[reduction.getLast()] = kind;
}

void Joiner::close(Attribute kind) {
  Bucket bucket = std::move(open[kind]);
  open.erase(kind);
  for (Reduction &member : bucket.members) {
    waiting.erase(member.op);
    waiting.erase(member.getLast());
  }
  if (bucket.members.size() > 1)
    join(bucket.members);
}

static void stage(Operation *op, dist::AllReduceOp like) {
  if (like.getTraffic() == dist::kGradients)
    op->setAttr(kStagingAttr, UnitAttr::get(op->getContext()));
}

/// The sum of `flat`, in the type that `like` is reduced in.
Value Joiner::reduce(OpBuilder &builder, Location loc, Reduction &like,
                     Value flat) {
  auto converted = [&](Value from, Value as) {
    Value value =
        train::convert(builder, loc, from, getElementTypeOrSelf(as.getType()));
    stage(value.getDefiningOp(), like.op);
    return value;
  };
  if (like.widened)
    flat = converted(flat, like.op);
  Value sum = dist::AllReduceOp::create(
      builder, loc, flat, like.op.getAxesAttr(), like.op.getTrafficAttr(),
      like.op.getHoldersAttr());
  stage(sum.getDefiningOp(), like.op);
  return like.narrowed ? converted(sum, like.narrowed) : sum;
}

/// Where the last of them stands, the first moment that all are there.
void Joiner::join(MutableArrayRef<Reduction> members) {
  Reduction &last = members.back();
  OpBuilder builder(last.op);
  SmallVector<Location> locations;
  SmallVector<Value> parts;
  int64_t total = 0;
  for (Reduction &member : members) {
    locations.push_back(member.op.getLoc());
    parts.push_back(reshape(builder, member.op.getLoc(), member.getInput(),
                            {numElements(member.op.getType())}));
    total += numElements(member.op.getType());
  }
  Location loc = builder.getFusedLoc(locations);
  auto type = cast<RankedTensorType>(last.getResult().getType());
  auto flat = ConcatOp::create(builder, loc, withShape(type, {total}), parts,
                               /*dim=*/0);
  stage(flat, last.op);
  Value sum = reduce(builder, loc, last, flat);
  int64_t offset = 0;
  for (auto [member, part] : llvm::zip(members, parts)) {
    Location at = member.op.getLoc();
    auto slice =
        SliceOp::create(builder, at, part.getType(), sum,
                        ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{1});
    if (Attribute mark = member.getLast()->getAttr(kGradientsAttr))
      slice->setAttr(kGradientsAttr, mark);
    offset += numElements(part.getType());
    Value result = member.getResult();
    result.replaceAllUsesWith(
        reshape(builder, at, slice, shapeOfValue(result)));
    if (member.narrowed)
      joined.push_back(member.narrowed);
    joined.push_back(member.op);
    if (member.widened)
      joined.push_back(member.widened);
  }
  numGone += members.size() - 1;
}

unsigned Joiner::run() {
  // Ops that come in front of the one that is looked at are done with.
  for (Operation &op : llvm::make_early_inc_range(block)) {
    closeWhatIsRead(op);
    if (auto reduction = dyn_cast<dist::AllReduceOp>(op))
      if (mayJoin(reduction))
        add(Reduction(reduction));
  }
  for (Operation *op : joined)
    op->erase();
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
