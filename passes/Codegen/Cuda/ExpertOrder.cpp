//===- ExpertOrder.cpp - train.expert_order on GPUs -----------------------===//
//
// A team writes the rows of one expert, a last one those of none. Each of its
// threads looks twice at some rows that follow one another: it counts those of
// the expert, and, when it knows how many the threads before it have, writes
// them.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/Cuda/ExpertTiles.h"

using namespace mlir;

namespace zc::cuda {

static constexpr int64_t kOrderThreads = 256;

namespace {

class ExpertOrder : public TiledOp {
public:
  explicit ExpertOrder(train::ExpertOrderOp op)
      : op(op), experts(typeOf(op.getIds()).getDimSize(0)),
        width(typeOf(op.getGroups()).getShape().back()),
        sorted(typeOf(op.getGroups()).getRank() == 2),
        count(typeOf(op.getGroups()).getNumElements()) {}

  int64_t teams() const override { return experts + 1; }
  int64_t threads() const override { return kOrderThreads; }

  MemRefType bufferType(unsigned number) const override {
    return flatBuffer(number < 3 ? typeOf(op->getOperand(number))
                                 : typeOf(op->getResult(0)));
  }

  void build(DeviceCode code, ValueRange buffers, Value team) override {
    groups = buffers[0];
    ids = buffers[1];
    ends = buffers[2];
    order = buffers[3];
    shared = code.share({kOrderThreads}, code.builder.getI32Type());
    thread = gpu::ThreadIdOp::create(code.builder, code.loc, gpu::Dimension::x);
    Value isNone = code.equal(team, code.index(experts));
    code.ifTrue(
        isNone, [&] { buildTeam(code, Value()); },
        [&] { buildTeam(code, team); });
  }

private:
  /// Whether row `row` is of the team's expert, or of none, as 1 or 0.
  Value isMine(DeviceCode &code, Value expert, Value row) {
    Value group = code.loadIndex(groups, row);
    Value is;
    if (expert) {
      is = code.equal(group, code.loadIndex(ids, expert));
    } else if (sorted) {
      is = code.equal(group, code.loadIndex(ids, code.div(row, width)));
    } else {
      is = code.loop(
          code.index(0), code.index(experts), 1,
          code.zero(code.builder.getI1Type()), [&](Value each, ValueRange now) {
            Value equal = code.equal(group, code.loadIndex(ids, each));
            return SmallVector<Value>{
                arith::OrIOp::create(code.builder, code.loc, now[0], equal)};
          })[0];
    }
    Value one = code.index(1), zero = code.index(0);
    return expert ? code.select(is, one, zero) : code.select(is, zero, one);
  }

  /// `expert` is null in the team of the rows of none.
  void buildTeam(DeviceCode code, Value expert) {
    Value first = expert ? findBegin(code, ends, expert)
                         : code.loadIndex(ends, code.index(experts - 1));
    Value end = expert ? code.loadIndex(ends, expert) : code.index(count);
    code.ifTrue(code.less(first, end), [&] { placeRows(code, expert, first); });
  }

  void placeRows(DeviceCode code, Value expert, Value first) {
    bool ownRows = expert && sorted;
    Value begin = ownRows ? code.mul(expert, width) : code.index(0);
    Value end = ownRows ? code.add(begin, width) : code.index(count);
    int64_t each = llvm::divideCeil(ownRows ? width : count, kOrderThreads);
    Value from = code.min(code.add(begin, code.mul(thread, each)), end);
    Value to = code.min(code.add(from, each), end);
    Value own =
        code.loop(from, to, 1, code.index(0), [&](Value row, ValueRange now) {
          return SmallVector<Value>{
              code.add(now[0], isMine(code, expert, row))};
        })[0];
    Value before = code.sub(sumUp(code, own), own);
    code.loop(from, to, 1, code.add(first, before),
              [&](Value row, ValueRange now) {
                Value mine = isMine(code, expert, row);
                code.ifTrue(code.equal(mine, code.index(1)), [&] {
                  Value number = arith::IndexCastOp::create(
                      code.builder, code.loc,
                      cast<MemRefType>(order.getType()).getElementType(), row);
                  code.store(number, order, now[0]);
                });
                return SmallVector<Value>{code.add(now[0], mine)};
              });
  }

  /// The sum over the threads before this one and its own number.
  Value sumUp(DeviceCode &code, Value number) {
    auto store = [&](Value value) {
      Value narrow = arith::IndexCastOp::create(
          code.builder, code.loc, code.builder.getI32Type(), value);
      code.store(narrow, shared, thread);
    };
    store(number);
    code.barrier();
    for (int64_t step = 1; step < kOrderThreads; step *= 2) {
      Value isBehind = code.less(code.index(step - 1), thread);
      Value other =
          code.select(isBehind, code.sub(thread, code.index(step)), thread);
      Value more =
          code.select(isBehind, code.loadIndex(shared, other), code.index(0));
      Value sum = code.add(code.loadIndex(shared, thread), more);
      code.barrier();
      store(sum);
      code.barrier();
    }
    return code.loadIndex(shared, thread);
  }

  train::ExpertOrderOp op;
  int64_t experts, width;
  bool sorted;
  int64_t count;
  Value groups, ids, ends, order, shared, thread;
};

} // namespace

std::unique_ptr<TiledOp> makeExpertOrder(train::ExpertOrderOp op) {
  return std::make_unique<ExpertOrder>(op);
}

} // namespace zc::cuda
