//===- JoinReductions.cpp - --zc-join-reductions --------------------------===//
//
// An exchange costs a latency per message whatever its size. A small one that
// nobody reads before the next one is there is sent with that. The flat vector
// is not padded: rings cut it as evenly as may be, and no rank holds a part of
// it alone. Gradients that are reduced in a wider type are joined in their own
// and widened together. A gather of which only the largest magnitude is used is
// one of a number a rank, along all axes at once, and an exchange, too.
//
//===----------------------------------------------------------------------===//
#include "passes/Collectives/Passes.h"

#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Analysis/Tensors.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_JOINREDUCTIONSPASS
#include "passes/Collectives/Passes.h.inc"

namespace {

/// Gathers along some axes, of which only the largest magnitude is used.
struct Measurement {
  SmallVector<Attribute> axes;
  AmaxOp largest; // of one number; null where there is none

  /// Follows the only readers of a gather.
  explicit Measurement(dist::AllGatherOp gather) {
    SmallVector<Attribute> passed(gather.getAxes().getValue());
    Operation *op = gather;
    while (op->hasOneUse()) {
      op = *op->user_begin();
      if (auto other = dyn_cast<dist::AllGatherOp>(op))
        llvm::append_range(passed, other.getAxes());
      else if (!isa<ReshapeOp, TransposeOp, AmaxOp>(op))
        return;
      auto amax = dyn_cast<AmaxOp>(op);
      if (!amax || numElements(amax.getType()) != 1)
        continue;
      largest = amax;
      axes = passed;
    }
  }
};

/// Measures what a rank has before it is sent: a number of each is enough. The
/// largest of largest magnitudes is that of all, in whatever order.
class Measurer {
public:
  explicit Measurer(Block &block) : block(block) {}

  void run() {
    for (auto gather : llvm::to_vector(block.getOps<dist::AllGatherOp>()))
      if (Measurement found(gather);
          found.largest && !found.largest->use_empty())
        replace(gather, found);
    eraseUnused();
  }

private:
  void replace(dist::AllGatherOp gather, Measurement &measurement) {
    OpBuilder builder(gather);
    Location loc = gather.getLoc();
    auto type = cast<RankedTensorType>(measurement.largest.getType());
    Value part = gather.getInput();
    auto partType = cast<RankedTensorType>(part.getType());
    if (partType.getNumElements() > 1)
      part = AmaxOp::create(
          builder, loc, withShape(type, {}), part,
          llvm::to_vector(llvm::seq<int64_t>(0, partType.getRank())));
    part = reshape(builder, loc, part, {1});
    auto axes = builder.getArrayAttr(measurement.axes);
    auto all = dist::AllGatherOp::create(
        builder, loc,
        withShape(cast<RankedTensorType>(part.getType()),
                  {dist::getGroupSize(dist::getMesh(gather), axes)}),
        part, axes, /*dim=*/0, dist::kStatistics);
    Value largest = AmaxOp::create(builder, loc, withShape(type, {}), all,
                                   ArrayRef<int64_t>{0});
    measurement.largest.getResult().replaceAllUsesWith(
        reshape(builder, loc, largest, type.getShape()));
  }

  /// Gathers that are replaced have no reader left, nor have these.
  void eraseUnused() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() &&
          isa<dist::AllGatherOp, ReshapeOp, TransposeOp, AmaxOp>(op))
        op.erase();
  }

  Block &block;
};

std::optional<Traffic> trafficOf(Operation *op) {
  return cast<dist::CollectiveOpInterface>(op).getWhatIsSent();
}

/// The op that takes the largest of what a gather has of all ranks, [1] of
/// each; null where there is none.
AmaxOp findLargest(Operation *op) {
  auto gather = dyn_cast<dist::AllGatherOp>(op);
  if (!gather || gather.getDim() != 0 || !gather->hasOneUse() ||
      gather.getTraffic() != dist::kStatistics ||
      numElements(gather.getInput().getType()) != 1)
    return nullptr;
  auto largest = dyn_cast<AmaxOp>(*gather->user_begin());
  return largest && largest.getDims() == ArrayRef<int64_t>{0} ? largest
                                                              : nullptr;
}

/// An exchange of which every element is that of the operands' elements at its
/// place, and the conversions that make it of another type than the gradient's.
struct Exchange {
  Operation *op;
  ConvertOp widened, narrowed; // both or none
  AmaxOp largest;              // of a gather

  explicit Exchange(Operation *op) : op(op), largest(findLargest(op)) {
    if (largest)
      return;
    auto before = op->getOperand(0).getDefiningOp<ConvertOp>();
    if (!before || !before->hasOneUse() || !op->hasOneUse())
      return;
    auto after = dyn_cast<ConvertOp>(*op->user_begin());
    if (!after || after.getType() != before.getInput().getType())
      return;
    widened = before;
    narrowed = after;
  }

  Value getInput() { return widened ? widened.getInput() : op->getOperand(0); }
  Operation *getLast() {
    if (largest)
      return largest;
    return narrowed ? narrowed : op;
  }
  Value getResult() { return getLast()->getResult(0); }

  /// Exchanges that go together are of one kind: the same op, axes and traffic,
  /// and the same element types.
  Attribute getKind() {
    auto element = [](Value value) {
      return TypeAttr::get(getElementTypeOrSelf(value.getType()));
    };
    Builder builder(op->getContext());
    NamedAttrList properties(
        cast<DictionaryAttr>(op->getPropertiesAsAttribute()));
    properties.erase("stays_whole"); // sent together, they are not scattered
    return builder.getArrayAttr({op->getName().getIdentifier(),
                                 properties.getDictionary(op->getContext()),
                                 element(op->getResult(0)),
                                 element(getResult())});
  }
};

/// Exchanges that become one, in the program's order.
struct Bucket {
  SmallVector<Exchange> members;
  SmallVector<Operation *> views; // what only reshapes a member's result
  int64_t bytes = 0;
};

/// One program.
class Joiner {
public:
  /// `limit`: the most bytes of gradients that are sent together.
  Joiner(Block &block, int64_t limit) : block(block), limit(limit) {}

  /// Returns how many exchanges are gone.
  unsigned run();

private:
  bool mayJoin(Operation &op) const;
  void closeWhatIsRead(Operation &op);
  void add(Exchange exchange);
  void close(Attribute kind);
  void join(MutableArrayRef<Exchange> members);
  Value send(OpBuilder &builder, Location loc, Exchange &like, Value flat);

  Block &block;
  int64_t limit;
  DenseMap<Attribute, Bucket> open; // by kind
  DenseMap<Operation *, Attribute> waiting;
  SmallVector<Operation *> joined; // users before what they use
  unsigned numGone = 0;
};

} // namespace

/// A gradient as large as a bucket is sent where it lies: joined with others it
/// would be copied twice.
bool Joiner::mayJoin(Operation &op) const {
  if (findLargest(&op))
    return true;
  if (!isa<dist::AllReduceOp, dist::BroadcastOp, dist::ReduceOp>(op))
    return false;
  const std::optional<Traffic> traffic = trafficOf(&op);
  if (isa<dist::BroadcastOp>(op))
    return traffic == dist::kStatistics;
  // Roles that exchange one may have other gradients beside it.
  if (auto sum = dyn_cast<dist::AllReduceOp>(op); sum && sum.getHolders())
    return false;
  return traffic == dist::kScalars ||
         (traffic == dist::kGradients && bytesOf(op.getResult(0)) < limit);
}

void Joiner::closeWhatIsRead(Operation &op) {
  if (waiting.contains(&op))
    return; // the end of what waits
  for (Value operand : op.getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (auto found = waiting.find(producer); found != waiting.end()) {
        Attribute kind = found->second;
        if (isa<ReshapeOp>(op)) {
          open[kind].views.push_back(&op);
          waiting[&op] = kind;
        } else {
          close(kind);
        }
      }
}

void Joiner::add(Exchange exchange) {
  Attribute kind = exchange.getKind();
  int64_t bytes = bytesOf(exchange.op->getResult(0));
  bool isGradient = trafficOf(exchange.op) == dist::kGradients;
  if (isGradient && open[kind].bytes + bytes > limit)
    close(kind);
  Bucket &bucket = open[kind];
  bucket.members.push_back(exchange);
  bucket.bytes += bytes;
  waiting[exchange.op] = waiting[exchange.getLast()] = kind;
}

void Joiner::close(Attribute kind) {
  Bucket bucket = std::move(open[kind]);
  open.erase(kind);
  for (Exchange &member : bucket.members) {
    waiting.erase(member.op);
    waiting.erase(member.getLast());
  }
  for (Operation *view : bucket.views)
    waiting.erase(view);
  if (bucket.members.size() < 2)
    return;
  join(bucket.members);
  for (Operation *view : bucket.views)
    view->moveBefore(bucket.members.back().op);
}

static void stage(Operation *op, Operation *like) {
  if (trafficOf(like) == dist::kGradients)
    op->setAttr(kStagingAttr, UnitAttr::get(op->getContext()));
}

/// Sends `flat` as `like` is sent, in the type of that.
Value Joiner::send(OpBuilder &builder, Location loc, Exchange &like,
                   Value flat) {
  auto converted = [&](Value from, Value as) {
    Value value =
        train::convert(builder, loc, from, getElementTypeOrSelf(as.getType()));
    stage(value.getDefiningOp(), like.op);
    return value;
  };
  if (like.widened)
    flat = converted(flat, like.op->getResult(0));
  auto type = cast<RankedTensorType>(flat.getType());
  auto sentType = type;
  if (like.largest) { // a row of each rank
    flat = reshape(builder, loc, flat, {1, type.getNumElements()});
    sentType = withShape(type, {numElements(like.op->getResult(0).getType()),
                                type.getNumElements()});
  }
  Operation *sent = builder.clone(*like.op);
  sent->setLoc(loc);
  sent->setDiscardableAttrs(DictionaryAttr::get(sent->getContext()));
  if (auto sum = dyn_cast<dist::AllReduceOp>(sent))
    sum.setStaysWhole(false);
  sent->setOperand(0, flat);
  sent->getResult(0).setType(sentType);
  stage(sent, like.op);
  Value result = sent->getResult(0);
  if (like.largest)
    return AmaxOp::create(builder, loc, type, result, ArrayRef<int64_t>{0});
  return like.narrowed ? converted(result, like.narrowed) : result;
}

/// Where the last of them stands, the first moment that all are there.
void Joiner::join(MutableArrayRef<Exchange> members) {
  Exchange &last = members.back();
  OpBuilder builder(last.op);
  SmallVector<Location> locations;
  SmallVector<Value> parts;
  int64_t total = 0;
  for (Exchange &member : members) {
    int64_t elements = numElements(member.getResult().getType());
    locations.push_back(member.op->getLoc());
    parts.push_back(
        reshape(builder, member.op->getLoc(), member.getInput(), {elements}));
    total += elements;
  }
  Location loc = builder.getFusedLoc(locations);
  auto type = cast<RankedTensorType>(last.getResult().getType());
  auto flat = ConcatOp::create(builder, loc, withShape(type, {total}), parts,
                               /*dim=*/0);
  stage(flat, last.op);
  Value sent = send(builder, loc, last, flat);
  int64_t offset = 0;
  for (auto [member, part] : llvm::zip(members, parts)) {
    Location at = member.op->getLoc();
    auto slice =
        SliceOp::create(builder, at, part.getType(), sent,
                        ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{1});
    copyMark(member.getLast(), slice, kGradientsAttr);
    offset += numElements(part.getType());
    Value result = member.getResult();
    result.replaceAllUsesWith(reshape(builder, at, slice, shapeOf(result)));
    if (member.getLast() != member.op)
      joined.push_back(member.getLast());
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
    if (mayJoin(op))
      add(Exchange(&op));
  }
  for (Operation *op : joined)
    op->erase();
  return numGone; // nobody reads the buckets that are still open
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
      for (Block &block : program.getBody()) {
        Measurer(block).run();
        numJoined += Joiner(block, limitOf(block)).run();
      }
  }

private:
  int64_t limitOf(Block &block) {
    int64_t all = 0;
    for (Operation &op : block)
      if (isa<dist::AllReduceOp, dist::ReduceOp>(op) &&
          trafficOf(&op) == dist::kGradients)
        all += bytesOf(op.getResult(0));
    return std::min(bucketBytes.getValue(),
                    all / std::max(int64_t(1), fewest.getValue()));
  }
};

} // namespace
} // namespace zc
