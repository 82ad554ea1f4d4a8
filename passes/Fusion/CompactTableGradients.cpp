//===- CompactTableGradients.cpp - a table's gradient without its zeros ---===//
//
// The gradient of an embedding is zero but for the rows that a batch reads.
// Where only regions that go through it row by row read it, as updates and
// norms do, it need not exist: the rows that are read are numbered, their
// gradients are added up in a table of that many rows, and the regions look a
// row up by its number.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_COMPACTTABLEGRADIENTSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// Shorter rows cost more to look up than their zeros to read.
constexpr int64_t kMinRow = 16;
/// A kernel has the rows that it looked up in its caches.
constexpr int64_t kMaxRow = 16 * 1024;

using BodyBuilder =
    llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange arguments)>;

/// A region that computes what `build` makes of its inputs.
FusedOp buildRegion(OpBuilder &builder, Location loc, TypeRange results,
                    ValueRange inputs, BodyBuilder build) {
  auto region = FusedOp::create(builder, loc, results, inputs);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&region.getBody());
  for (Value input : inputs)
    block->addArgument(input.getType(), input.getLoc());
  YieldOp::create(builder, loc, build(builder, block->getArguments()));
  return region;
}

/// A gradient of a table, made by `scatter` out of zeros in a region of its
/// own, which these operands of other regions alone read.
struct TableGradient {
  FusedOp region;
  ScatterAddOp scatter;
  SmallVector<OpOperand *> reads;
};

ScatterAddOp findScatter(FusedOp region) {
  auto yielded = region.getBody().front().getTerminator()->getOperands();
  auto scatter = yielded.size() == 1
                     ? yielded.front().getDefiningOp<ScatterAddOp>()
                     : ScatterAddOp();
  return scatter && scatter.getDim() == 0 &&
                 isa<BlockArgument>(scatter.getIndices()) &&
                 isa<BlockArgument>(scatter.getUpdates()) &&
                 matchPattern(scatter.getInit(), m_AnyZeroFloat())
             ? scatter
             : ScatterAddOp();
}

/// Whether what `body` makes of a row of `argument` depends on no other row.
bool isReadByRows(Block &body, BlockArgument argument) {
  DenseSet<Value> dependent = {argument};
  for (Operation &op : body.without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) {
          return dependent.contains(operand);
        }))
      continue;
    auto reduce = dyn_cast<ReduceOp>(op);
    bool keepsRows = reduce ? !llvm::is_contained(reduce.getDims(), 0)
                            : isa<ElementwiseOpInterface>(op);
    if (!keepsRows)
      return false;
    dependent.insert(op.result_begin(), op.result_end());
  }
  return true;
}

std::optional<TableGradient> findGradient(FusedOp region) {
  TableGradient gradient{region, findScatter(region), {}};
  if (!gradient.scatter)
    return std::nullopt;
  DenseSet<Operation *> readers;
  for (OpOperand &use : region.getResult(0).getUses()) {
    auto reader = dyn_cast<FusedOp>(use.getOwner());
    if (!reader || !readers.insert(reader).second)
      return std::nullopt;
    Block &body = reader.getBody().front();
    if (!isReadByRows(body, body.getArgument(use.getOperandNumber())))
      return std::nullopt;
    gradient.reads.push_back(&use);
  }
  if (gradient.reads.empty())
    return std::nullopt;
  return gradient;
}

/// Whether the rows that are read are few, so that leaving out the others pays.
bool isWorthwhile(ScatterAddOp scatter, int64_t minBytes) {
  auto table = cast<RankedTensorType>(scatter.getType());
  int64_t rows = table.getDimSize(0), row = table.getNumElements() / rows;
  int64_t read = numElements(scatter.getIndices().getType());
  int64_t bytes = table.getNumElements() * table.getElementTypeBitWidth() / 8;
  return row >= kMinRow && row <= kMaxRow && bytes >= minBytes &&
         rows >= 4 * (read + 1);
}

/// Replaces one gradient of a table.
class Compaction {
public:
  explicit Compaction(TableGradient what)
      : gradient(std::move(what)), builder(gradient.region),
        loc(gradient.region.getLoc()),
        table(cast<RankedTensorType>(gradient.scatter.getType())),
        read(numElements(gradient.scatter.getIndices().getType())) {}

  void run() {
    Value indices = flatten(gradient.scatter.getIndices(), 0);
    Value updates = flatten(gradient.scatter.getUpdates(), table.getRank() - 1);
    Value numbers = numberRows(indices);
    Value compact = addUp(numbers, indices, updates);
    for (OpOperand *use : gradient.reads)
      lookUp(*use, compact, numbers);
    gradient.region.erase();
  }

private:
  RankedTensorType vectorOfNumbers(int64_t size) {
    return RankedTensorType::get({size}, builder.getI64Type());
  }

  /// The region's operand for its argument, with all dims but the last `kept`
  /// collapsed into one.
  Value flatten(Value argument, int64_t kept) {
    Value value =
        gradient.region
            .getInputs()[cast<BlockArgument>(argument).getArgNumber()];
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {read};
    llvm::append_range(shape, type.getShape().take_back(kept));
    if (ArrayRef<int64_t>(shape) == type.getShape())
      return value;
    return ReshapeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        value);
  }

  /// Per row of the table the place in the batch that reads it first, or, where
  /// none does, the place after the last.
  Value numberRows(Value indices) {
    auto perRead = vectorOfNumbers(read);
    auto perRow = vectorOfNumbers(table.getDimSize(0));
    FusedOp places = buildRegion(
        builder, loc, perRead, {}, [&](OpBuilder &inner, ValueRange) {
          return SmallVector<Value>{IotaOp::create(inner, loc, perRead, 1)};
        });
    FusedOp numbers =
        buildRegion(builder, loc, perRow, {indices, places.getResult(0)},
                    [&](OpBuilder &inner, ValueRange arguments) {
                      Value none = splat(inner, loc, perRow, read);
                      return SmallVector<Value>{ScatterReduceOp::create(
                          inner, loc, perRow, ScatterKind::Min, none,
                          arguments[0], arguments[1], 0)};
                    });
    return numbers.getResult(0);
  }

  /// The gradient's rows by number, in the order in which the table's would be
  /// added up. The last row is zeros.
  Value addUp(Value numbers, Value indices, Value updates) {
    auto perRead = vectorOfNumbers(read);
    FusedOp places =
        buildRegion(builder, loc, perRead, {numbers, indices},
                    [&](OpBuilder &inner, ValueRange arguments) {
                      return SmallVector<Value>{GatherOp::create(
                          inner, loc, perRead, arguments[0], arguments[1], 0)};
                    });
    SmallVector<int64_t> shape(table.getShape());
    shape[0] = read + 1;
    auto type = RankedTensorType::get(shape, table.getElementType());
    FusedOp sums = buildRegion(
        builder, loc, type, {places.getResult(0), updates},
        [&](OpBuilder &inner, ValueRange arguments) {
          Value zeros = splat(inner, loc, type, 0);
          return SmallVector<Value>{ScatterAddOp::create(
              inner, loc, type, zeros, arguments[0], arguments[1], 0)};
        });
    sums.takeFactsOf(gradient.region);
    return sums.getResult(0);
  }

  /// The region of `use` with the rows of `compact` in place of the gradient's.
  void lookUp(OpOperand &use, Value compact, Value numbers) {
    auto old = cast<FusedOp>(use.getOwner());
    unsigned operand = use.getOperandNumber();
    builder.setInsertionPoint(old);
    SmallVector<Value> inputs(old.getInputs());
    inputs[operand] = compact;
    inputs.push_back(numbers);
    FusedOp reader = buildRegion(
        builder, old.getLoc(), old.getResultTypes(), inputs,
        [&](OpBuilder &inner, ValueRange arguments) {
          Value rows = GatherOp::create(inner, loc, table, arguments[operand],
                                        arguments.back(), 0);
          return cloneBody(inner, old.getBody().front(), operand, arguments,
                           rows);
        });
    reader.takeFactsOf(old);
    reader.setSharedBuffers(keptPairs(old, operand));
    old.replaceAllUsesWith(reader.getResults());
    old.erase();
  }

  static SmallVector<Value> cloneBody(OpBuilder &inner, Block &body,
                                      unsigned operand, ValueRange arguments,
                                      Value rows) {
    IRMapping mapping;
    for (BlockArgument old : body.getArguments())
      mapping.map(old, old.getArgNumber() == operand
                           ? rows
                           : arguments[old.getArgNumber()]);
    for (Operation &op : body.without_terminator())
      inner.clone(op, mapping);
    return llvm::map_to_vector(
        body.getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookup(value); });
  }

  /// The old pairs of buffers but for the gradient's.
  static SmallVector<int64_t> keptPairs(FusedOp old, unsigned operand) {
    ArrayRef<int64_t> pairs = old.getSharedBuffers();
    SmallVector<int64_t> kept;
    for (size_t i = 0; i < pairs.size(); i += 2)
      if (pairs[i] != static_cast<int64_t>(operand))
        kept.append({pairs[i], pairs[i + 1]});
    return kept;
  }

  TableGradient gradient;
  OpBuilder builder;
  Location loc;
  RankedTensorType table;
  int64_t read;
};

struct CompactTableGradients
    : public impl::CompactTableGradientsPassBase<CompactTableGradients> {
  using CompactTableGradientsPassBase::CompactTableGradientsPassBase;

  // One at a time: another's readers may be regions that this one replaces.
  void runOnOperation() override {
    SmallVector<FusedOp> scatters;
    getOperation().walk([&](FusedOp region) {
      ScatterAddOp scatter = findScatter(region);
      if (scatter && isWorthwhile(scatter, minBytes))
        scatters.push_back(region);
    });
    for (FusedOp region : scatters)
      if (std::optional<TableGradient> gradient = findGradient(region)) {
        Compaction(std::move(*gradient)).run();
        ++numCompacted;
      }
  }
};

} // namespace
} // namespace zc
