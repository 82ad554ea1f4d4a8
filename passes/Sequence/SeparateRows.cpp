//===- SeparateRows.cpp - --zc-separate-rows ------------------------------===//
//
// Every value whose dim 0 merges samples and tokens gets a twin that keeps them
// apart. Ops are repeated on twins as far as that is possible; dead ops are
// removed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Autodiff/SampleDims.h"
#include "passes/Sequence/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SEPARATEROWSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

ArrayRef<int64_t> shapeOfType(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// One program.
class RowSeparator {
public:
  explicit RowSeparator(func::FuncOp program)
      : program(program), dims(findSampleDims(program)), samples(dims.samples) {
  }

  void run() {
    if (samples == 0)
      return;
    for (Operation &op :
         llvm::make_early_inc_range(program.getBody().front())) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        break;
      visit(&op);
    }
    eraseDeadOps(program);
  }

private:
  /// A value [samples, tokens, ..] that was [samples tokens, ..].
  struct Twin {
    Value value;
    int64_t tokens;
  };

  std::optional<Twin> twinOf(Value value) const {
    auto found = twins.find(value);
    return found == twins.end() ? std::nullopt : std::optional(found->second);
  }

  Type separated(Type type, int64_t tokens) const {
    auto merged = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape = {samples, tokens};
    llvm::append_range(shape, merged.getShape().drop_front());
    return RankedTensorType::get(shape, merged.getElementType());
  }

  void visit(Operation *op);
  void visitReshape(ReshapeOp op);
  bool takesTokensApart(ReshapeOp op) const;
  bool visitRowBlocks(ReshapeOp op, Twin twin);
  bool visitBroadcast(BroadcastOp op, Twin input);
  template <typename Op> bool visitMatmul(Op op);
  bool setScales(MatmulOp, ArrayRef<unsigned>) { return true; }
  bool setScales(ScaledMatmulOp made, ArrayRef<unsigned> factors);
  template <typename Op> bool visitReduce(Op op, Twin input);
  bool visitRows(Operation *op, int64_t tokens);
  std::optional<Value> findTwin(Operation *op, Value value, int64_t tokens);
  void replaceWhole(Operation *op, Operation *made);

  /// Whether samples are dim 0, of `rows` rows each: a weight's gradient may
  /// have as many rows.
  bool countsSamples(Value value, int64_t rows = 1) const {
    auto found = dims.places.find(value);
    return found != dims.places.end() &&
           found->second == SampleDim{0, rows, samples};
  }

  func::FuncOp program;
  SampleDims dims;
  int64_t samples;
  int64_t lastTokens = 1; // of a sample, where samples and tokens were merged
  DenseMap<Value, Twin> twins;
};

} // namespace

/// The dim that a reshape merges with the samples in front of it: dims of 1, as
/// of a group of queries, may stand between.
static int64_t sizeBehindSamples(ArrayRef<int64_t> shape) {
  auto found =
      llvm::find_if(shape.drop_front(), [](int64_t size) { return size != 1; });
  return found == shape.end() ? 1 : *found;
}

/// Whether rows are several of each token, of its experts, and a dim of their
/// own in the result, behind as many tokens as samples had before.
bool RowSeparator::takesTokensApart(ReshapeOp op) const {
  ArrayRef<int64_t> from = shapeOfType(op.getInput());
  ArrayRef<int64_t> to = shapeOfType(op.getResult());
  if (lastTokens == 1 || to.size() < 2 || to[1] == 1 ||
      to[0] != samples * lastTokens)
    return false;
  // Rows of experts' rooms are a sample's.
  if (from.size() > 1 && from[0] == samples)
    return from[1] == lastTokens * to[1] && countsSamples(op.getInput());
  return from[0] == to[0] * to[1] &&
         countsSamples(op.getInput(), from[0] / samples);
}

/// A reshape may merge samples and tokens, keep them merged or take them apart.
void RowSeparator::visitReshape(ReshapeOp op) {
  ArrayRef<int64_t> from = shapeOfType(op.getInput());
  ArrayRef<int64_t> to = shapeOfType(op.getResult());
  OpBuilder builder(op);
  if (auto twin = twinOf(op.getInput())) {
    if (visitRowBlocks(op, *twin))
      return;
    if (to.empty() || to[0] != samples * twin->tokens) {
      op.getInputMutable().assign(twin->value); // the same elements
      return;
    }
    auto type = cast<RankedTensorType>(separated(op.getType(), twin->tokens));
    twins[op.getResult()] = {
        reshape(builder, op.getLoc(), twin->value, type.getShape()),
        twin->tokens};
    return;
  }
  if (from.empty() || to.empty())
    return;
  int64_t tokens = lastTokens;
  if (!takesTokensApart(op)) {
    tokens =
        from.size() < 2 || from[0] != samples ? 1 : sizeBehindSamples(from);
    if (tokens == 1 || to[0] != samples * tokens ||
        !countsSamples(op.getInput()))
      return;
    lastTokens = tokens;
  }
  auto type = cast<RankedTensorType>(separated(op.getType(), tokens));
  twins[op.getResult()] = {
      reshape(builder, op.getLoc(), op.getInput(), type.getShape()), tokens};
}

/// Blocks of rows, for scales of 8-bit floats, are of one sample's tokens:
/// [samples tokens, ..] as [samples tokens / block, block, ..], and back.
bool RowSeparator::visitRowBlocks(ReshapeOp op, Twin twin) {
  ArrayRef<int64_t> from = shapeOfType(op.getInput());
  ArrayRef<int64_t> to = shapeOfType(op.getResult());
  if (from.size() < 2 || to.size() < 2 || from[0] == to[0])
    return false;
  auto isCutAs = [](ArrayRef<int64_t> whole, ArrayRef<int64_t> parts) {
    return parts.size() > 2 && parts[1] == kFloat8Block &&
           parts[0] * parts[1] == whole[0] &&
           parts.drop_front(2) == whole.drop_front(1);
  };
  const bool cuts = isCutAs(from, to), joins = isCutAs(to, from);
  if ((!cuts && !joins) || to[0] % samples != 0 || to[0] == samples)
    return false;
  OpBuilder builder(op);
  const int64_t tokens = to[0] / samples;
  auto type = cast<RankedTensorType>(separated(op.getType(), tokens));
  twins[op.getResult()] = {
      reshape(builder, op.getLoc(), twin.value, type.getShape()), tokens};
  return true;
}

/// A scale of 8-bit floats for each row is repeated along other dims. Others
/// are not told apart: what reads them is merged rows.
bool RowSeparator::visitBroadcast(BroadcastOp op, Twin input) {
  if (!input.value.getDefiningOp<FloorPowerOp>() || op.getDims().empty() ||
      op.getDims().front() != 0 ||
      shapeOfType(op.getInput())[0] != shapeOfType(op.getResult())[0])
    return false;
  SmallVector<int64_t> dims = {0};
  for (int64_t dim : op.getDims())
    dims.push_back(dim + 1);
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(separated(op.getType(), input.tokens));
  twins[op.getResult()] = {train::broadcast(builder, op.getLoc(), input.value,
                                            type.getShape(), dims),
                           input.tokens};
  return true;
}

/// Others read the same value from a new op.
void RowSeparator::replaceWhole(Operation *op, Operation *made) {
  op->replaceAllUsesWith(made->getResults());
}

/// Scales of blocks are told apart as their factors are; else none is.
bool RowSeparator::setScales(ScaledMatmulOp made, ArrayRef<unsigned> factors) {
  if (!made.hasBlocks())
    return true;
  for (unsigned factor : factors)
    if (auto scale = twinOf(made->getOperand(factor + 2)))
      made->setOperand(factor + 2, scale->value);
    else
      return false;
  return true;
}

template <typename Op> bool RowSeparator::visitMatmul(Op op) {
  auto lhs = twinOf(op.getLhs()), rhs = twinOf(op.getRhs());
  if (shapeOfType(op.getResult()).size() != 2)
    return false;
  OpBuilder builder(op);
  if (lhs && !rhs && !op.getTransposeLhs()) {
    auto made = cast<Op>(builder.clone(*op));
    if (!setScales(made, {0})) {
      made.erase();
      return false;
    }
    made.getLhsMutable().assign(lhs->value);
    made.getResult().setType(
        cast<RankedTensorType>(separated(op.getType(), lhs->tokens)));
    twins[op.getResult()] = {made.getResult(), lhs->tokens};
    return true;
  }
  if (!lhs || !rhs || lhs->tokens != rhs->tokens || !op.getTransposeLhs() ||
      op.getTransposeRhs())
    return false;
  auto made = cast<Op>(builder.clone(*op));
  if (!setScales(made, {0, 1})) {
    made.erase();
    return false;
  }
  made.getLhsMutable().assign(lhs->value);
  made.getRhsMutable().assign(rhs->value);
  replaceWhole(op, made);
  return true;
}

template <typename Op> bool RowSeparator::visitReduce(Op op, Twin input) {
  OpBuilder builder(op);
  bool sums = llvm::is_contained(op.getDims(), 0);
  SmallVector<int64_t> dims;
  if (sums)
    dims = {0};
  for (int64_t dim : op.getDims())
    dims.push_back(dim + 1);
  auto made = cast<Op>(builder.clone(*op));
  made.getInputMutable().assign(input.value);
  made.setDims(dims);
  if (sums) {
    replaceWhole(op, made);
    return true;
  }
  made.getResult().setType(
      cast<RankedTensorType>(separated(op.getType(), input.tokens)));
  twins[op.getResult()] = {made.getResult(), input.tokens};
  return true;
}

/// The twin of an operand that runs over rows, made where it is the same for
/// all of them; none where it cannot be told apart.
std::optional<Value> RowSeparator::findTwin(Operation *op, Value value,
                                            int64_t tokens) {
  if (auto twin = twinOf(value))
    return twin->tokens == tokens ? std::optional(twin->value) : std::nullopt;
  OpBuilder builder(op);
  Operation *producer = value.getDefiningOp();
  auto type = cast<RankedTensorType>(separated(value.getType(), tokens));
  auto broadcast = dyn_cast_or_null<BroadcastOp>(producer);
  if (broadcast && !llvm::is_contained(broadcast.getDims(), 0)) {
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(dim + 1);
    return train::broadcast(builder, broadcast.getLoc(), broadcast.getInput(),
                            type.getShape(), dims);
  }
  if (broadcast && broadcast.getDims().front() == 0 &&
      shapeOfType(broadcast.getInput())[0] == samples * tokens) {
    std::optional<Value> input = findTwin(op, broadcast.getInput(), tokens);
    SmallVector<int64_t> dims = {0};
    for (int64_t dim : broadcast.getDims())
      dims.push_back(dim + 1);
    return input
               ? std::optional(train::broadcast(builder, broadcast.getLoc(),
                                                *input, type.getShape(), dims))
               : std::nullopt;
  }
  // Constants fold; others are divided by samples alone.
  return reshape(builder, op->getLoc(), value, type.getShape());
}

/// An op that treats every row alike.
bool RowSeparator::visitRows(Operation *op, int64_t tokens) {
  int64_t rows = samples * tokens;
  ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  int factor = ShardingRule::kWhole;
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.resultDims)) {
    if (dims.empty() || shapeOfType(result)[0] != rows ||
        dims[0] == ShardingRule::kWhole ||
        (factor != ShardingRule::kWhole && dims[0] != factor))
      return false;
    factor = dims[0];
  }
  if (factor == ShardingRule::kWhole || rule.factors[factor].size != rows)
    return false;
  bool sameRanks = true; // nothing says by number which dim is meant
  size_t rank = shapeOfType(op->getResult(0)).size();
  for (Value value : op->getOperands())
    sameRanks &= shapeOfType(value).size() == rank;
  auto axis = op->getAttrOfType<IntegerAttr>("axis");
  if (!axis && (!sameRanks || !isa<ElementwiseOpInterface>(op)))
    return false;
  SmallVector<Value> operands;
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operandDims)) {
    bool runs = llvm::is_contained(dims, factor);
    if (runs && dims[0] != factor)
      return false;
    std::optional<Value> twin = runs ? findTwin(op, value, tokens) : value;
    if (!twin)
      return false;
    operands.push_back(*twin);
  }
  OpBuilder builder(op);
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  if (axis)
    made->setAttr("axis", builder.getI64IntegerAttr(axis.getInt() + 1));
  for (auto [old, result] : llvm::zip(op->getResults(), made->getResults())) {
    result.setType(separated(old.getType(), tokens));
    twins[old] = {result, tokens};
  }
  return true;
}

void RowSeparator::visit(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return visitReshape(reshape);
  std::optional<Twin> first;
  for (Value operand : op->getOperands())
    if (!first)
      first = twinOf(operand);
  if (!first || !isa<ShardableOpInterface>(op))
    return;
  bool done;
  if (auto matmul = dyn_cast<MatmulOp>(op))
    done = visitMatmul(matmul);
  else if (auto scaled = dyn_cast<ScaledMatmulOp>(op))
    done = visitMatmul(scaled);
  else if (auto reduce = dyn_cast<ReduceOp>(op))
    done = visitReduce(reduce, *first);
  else if (auto amax = dyn_cast<AmaxOp>(op))
    done = visitReduce(amax, *first);
  else if (auto spread = dyn_cast<BroadcastOp>(op);
           spread && visitBroadcast(spread, *first))
    done = true;
  else
    done = visitRows(op, first->tokens);
  if (!done) // reads rows as they were, but made of the twin
    return;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults())
    if (auto twin = twinOf(result)) {
      Value merged = train::reshape(builder, op->getLoc(), twin->value,
                                    shapeOfType(result));
      twins[merged] = *twin;
      result.replaceAllUsesWith(merged);
    }
}

namespace {

struct SeparateRows : public impl::SeparateRowsPassBase<SeparateRows> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>())
      RowSeparator(program).run();
  }
};

} // namespace
} // namespace zc
