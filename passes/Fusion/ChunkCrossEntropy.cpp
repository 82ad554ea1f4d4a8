//===- ChunkCrossEntropy.cpp - logits never exist whole -------------------===//
//
// The logits of a language model are its largest value by far. Samples do not
// meet in a loss, so that forward and backward of the last layer can be done
// for some of them at a time; only the weights' gradients are sums over all.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Fusion/Passes.h"
#include "passes/Sharding/DimClasses.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_CHUNKCROSSENTROPYPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

constexpr int64_t kFewestSamples = 128;

/// The last layer with its loss, forward and backward.
struct LossHead {
  SoftmaxCrossEntropyOp loss;
  SoftmaxCrossEntropyGradOp grad;
  MatmulOp product;
  Value bias;                     // null: none
  SmallVector<MatmulOp> products; // backward: gradients of samples and weights
  SmallVector<ReduceOp> biasGrads;

  int64_t samples() {
    return cast<ShapedType>(product.getType()).getDimSize(0);
  }
  int64_t classes() {
    return cast<ShapedType>(product.getType()).getDimSize(1);
  }
};

/// Finds a head by its loss; everything between product and loss, and between
/// gradient and products, must have no other reader.
class HeadFinder {
public:
  explicit HeadFinder(SoftmaxCrossEntropyOp loss) { head.loss = loss; }

  std::optional<LossHead> find() {
    if (!findGrad() || !findProduct(head.loss.getLogits()) ||
        !findBackward(head.grad.getResult()) || head.products.empty())
      return std::nullopt;
    return head;
  }

private:
  bool findGrad() {
    Value logits = head.loss.getLogits();
    for (Operation *user : logits.getUsers()) {
      auto grad = dyn_cast<SoftmaxCrossEntropyGradOp>(user);
      if (user == head.loss)
        continue;
      if (!grad || head.grad || grad.getLogits() != logits ||
          grad.getLabels() != head.loss.getLabels() ||
          grad.getLogSumExp() != head.loss.getLogSumExp())
        return false;
      head.grad = grad;
    }
    return head.grad && head.loss.getLogSumExp().hasOneUse();
  }

  bool findProduct(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto product = dyn_cast_or_null<MatmulOp>(op)) {
      head.product = product;
      return cast<ShapedType>(value.getType()).getRank() == 2 &&
             !product.getTransposeLhs();
    }
    if (auto view = dyn_cast_or_null<ReshapeOp>(op))
      return keepsClasses(view) && isOnlyUse(view.getInput()) &&
             findProduct(view.getInput());
    auto sum = dyn_cast_or_null<AddOp>(op);
    if (!sum || head.bias)
      return false;
    for (auto [spread, rest] : {std::pair(sum.getRhs(), sum.getLhs()),
                                std::pair(sum.getLhs(), sum.getRhs())})
      if (Value bias = biasOf(spread)) {
        head.bias = bias;
        return isOnlyUse(rest) && findProduct(rest);
      }
    return false;
  }

  static bool isOnlyUse(Value value) { return value.hasOneUse(); }

  static bool keepsClasses(ReshapeOp op) {
    auto from = cast<ShapedType>(op.getInput().getType()).getShape();
    auto to = cast<ShapedType>(op.getType()).getShape();
    return !from.empty() && !to.empty() && from.back() == to.back();
  }

  /// The bias, one number per class, that is broadcast over the samples.
  static Value biasOf(Value value) {
    auto spread = value.getDefiningOp<BroadcastOp>();
    if (!spread)
      return nullptr;
    auto from = cast<RankedTensorType>(spread.getInput().getType());
    auto to = cast<RankedTensorType>(spread.getType());
    bool isBias = from.getRank() == 1 &&
                  spread.getDims()[0] == to.getRank() - 1 &&
                  from.getDimSize(0) == to.getShape().back();
    return isBias ? spread.getInput() : Value();
  }

  bool findBackward(Value grad) {
    return llvm::all_of(grad.getUsers(), [&](Operation *user) {
      if (auto view = dyn_cast<ReshapeOp>(user))
        return keepsClasses(view) && findBackward(view.getResult());
      if (auto product = dyn_cast<MatmulOp>(user)) {
        head.products.push_back(product);
        return cast<ShapedType>(grad.getType()).getRank() == 2 &&
               product.getLhs() != product.getRhs();
      }
      auto sum = dyn_cast<ReduceOp>(user);
      head.biasGrads.push_back(sum);
      return sum && sum.getKind() == ReduceKind::Sum &&
             cast<ShapedType>(sum.getType()).getRank() == 1 &&
             sum.getDims().back() + 1 <
                 cast<ShapedType>(grad.getType()).getRank();
    });
  }

  LossHead head;
};

/// Builds the chunks in front of the first op that needs their results. Samples
/// come in `parts` equal rows, one a rank; a chunk has columns of them.
class Chunker {
public:
  Chunker(LossHead &head, int64_t count, int64_t parts, bool divided)
      : head(head), count(count), parts(parts), divided(divided),
        builder(head.grad), loc(head.loss.getLoc()),
        columns(head.samples() / parts / count), samples(columns * parts) {}

  void run() {
    builder.setInsertionPointAfter(head.grad);
    for (chunk = 0; chunk < count; ++chunk)
      buildChunk();
    replace(head.loss.getLoss(), joined(losses));
    for (auto [product, values] : llvm::zip(head.products, results))
      replace(product.getResult(),
              values.size() > 1 ? joined(values) : values.front());
    for (auto [reduce, value] : llvm::zip(head.biasGrads, biasGrads))
      replace(reduce.getResult(), value);
  }

private:
  /// The chunk's part of a value whose dims but the last `kept` are samples.
  Value part(Value value, int64_t kept) {
    auto shape = cast<ShapedType>(value.getType()).getShape();
    if (auto spread = value.getDefiningOp<BroadcastOp>())
      if (kept == 0 && spread.getDims().empty())
        return broadcast(builder, loc, spread.getInput(), {samples}, {});
    SmallVector<int64_t> flat;
    if (parts > 1)
      flat.push_back(parts);
    size_t dim = flat.size();
    flat.push_back(head.samples() / parts);
    llvm::append_range(flat, shape.take_back(kept));
    Value rows = reshape(builder, loc, value, flat);
    SmallVector<int64_t> offsets(flat.size(), 0), strides(flat.size(), 1);
    offsets[dim] = chunk * columns;
    flat[dim] = columns;
    Value part = SliceOp::create(builder, loc, withShape(value.getType(), flat),
                                 rows, offsets, strides);
    if (parts == 1)
      return part;
    flat.erase(flat.begin());
    flat[0] = samples;
    return reshape(builder, loc, part, flat);
  }

  Value buildLogits() {
    Type type = withShape(head.product.getType(), {samples, head.classes()});
    Value logits = MatmulOp::create(
        builder, head.product.getLoc(), type, part(head.product.getLhs(), 1),
        head.product.getRhs(), false, head.product.getTransposeRhs());
    if (!head.bias)
      return logits;
    Value spread =
        broadcast(builder, loc, head.bias, {samples, head.classes()}, {1});
    return AddOp::create(builder, head.product.getLoc(), logits, spread);
  }

  void buildChunk() {
    Value logits = buildLogits();
    Value labels = part(head.loss.getLabels(), 0);
    Type perSample = withShape(head.loss.getLoss().getType(), {samples});
    auto loss = SoftmaxCrossEntropyOp::create(builder, loc, perSample,
                                              perSample, logits, labels,
                                              head.loss.getIgnoreIndexAttr());
    losses.push_back(loss.getLoss());
    Value grad = SoftmaxCrossEntropyGradOp::create(
        builder, head.grad.getLoc(), logits.getType(), logits, labels,
        loss.getLogSumExp(), part(head.grad.getGrad(), 0),
        head.grad.getIgnoreIndexAttr());
    results.resize(head.products.size());
    for (auto [index, product] : llvm::enumerate(head.products))
      buildProduct(product, grad, results[index]);
    biasGrads.resize(head.biasGrads.size());
    for (auto [index, reduce] : llvm::enumerate(head.biasGrads)) {
      Value &sum = biasGrads[index];
      Type type = withShape(reduce.getType(), {head.classes()});
      Value term =
          ReduceOp::create(builder, reduce.getLoc(), type, ReduceKind::Sum,
                           grad, ArrayRef<int64_t>{0});
      sum = sum ? AddOp::create(builder, reduce.getLoc(), sum, term) : term;
      if (chunk + 1 == count)
        copyMarks(reduce, sum.getDefiningOp());
    }
  }

  static bool isGradient(LossHead &head, Value value) {
    while (auto view = value.getDefiningOp<ReshapeOp>())
      value = view.getInput();
    return value == head.grad->getResult(0);
  }

  /// A product with rows of the gradient gives rows; one that sums over the
  /// samples gives a term of a sum.
  void buildProduct(MatmulOp product, Value grad, SmallVector<Value> &values) {
    bool left = isGradient(head, product.getLhs());
    bool sums = left ? product.getTransposeLhs() : !product.getTransposeRhs();
    auto operand = [&](Value value) {
      return isGradient(head, value) ? grad : sums ? part(value, 1) : value;
    };
    Value lhs = operand(product.getLhs()), rhs = operand(product.getRhs());
    auto type = cast<RankedTensorType>(product.getType());
    bool tl = product.getTransposeLhs(), tr = product.getTransposeRhs();
    Location at = product.getLoc();
    if (!sums) {
      SmallVector<int64_t> shape(type.getShape());
      shape[left ? 0 : 1] = samples;
      values.push_back(MatmulOp::create(builder, at, withShape(type, shape),
                                        lhs, rhs, tl, tr));
      return;
    }
    // Sums over the chunks are of float32.
    Type sums32 = withComputeType(type);
    Value sum;
    if (values.empty() || divided)
      sum = MatmulOp::create(builder, at, sums32, lhs, rhs, tl, tr);
    else
      sum = MatmulAddOp::create(builder, at, sums32, values.front(), lhs, rhs,
                                tl, tr);
    bool inPlace = !values.empty() && divided;
    if (inPlace)
      sum = AddOp::create(builder, at, values.front(), sum);
    Operation *last = sum.getDefiningOp();
    if (chunk + 1 == count) {
      sum = narrow(builder, at, sum, type);
      if (auto rounded = sum.getDefiningOp<ConvertOp>())
        rounded.setRoundsResult(false); // ranks add up what chunks add up
      // The memory report counts gradients by marks on their producers.
      copyMarks(product, sum.getDefiningOp());
    }
    if (inPlace)
      cast<AddOp>(last).setInPlace(true);
    values.assign(1, sum);
  }

  Value joined(ArrayRef<Value> values) {
    auto type = cast<RankedTensorType>(values.front().getType());
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<Value> rows(values);
    size_t dim = 0;
    if (parts > 1) {
      shape[0] = columns;
      shape.insert(shape.begin(), parts);
      for (Value &each : rows)
        each = reshape(builder, loc, each, shape);
      dim = 1;
    }
    shape[dim] *= count;
    return ConcatOp::create(builder, loc, withShape(type, shape), rows, dim);
  }

  void replace(Value old, Value value) {
    auto shape = cast<ShapedType>(old.getType()).getShape();
    old.replaceAllUsesWith(reshape(builder, loc, value, shape));
  }

  LossHead &head;
  int64_t count, parts;
  bool divided; // among ranks, from here on
  OpBuilder builder;
  Location loc;
  int64_t columns, samples, chunk = 0;
  SmallVector<Value> losses, biasGrads;
  SmallVector<SmallVector<Value>> results; // rows by chunk, or one sum
};

/// How many equal chunks of up to `most` `samples` make, at least 2, or 0.
int64_t chooseCount(int64_t samples, int64_t most) {
  for (int64_t size = std::min(samples / 2, most); size >= kFewestSamples;
       --size)
    if (samples % size == 0)
      return samples / size;
  return 0;
}

struct ChunkCrossEntropy
    : public impl::ChunkCrossEntropyPassBase<ChunkCrossEntropy> {
  using ChunkCrossEntropyPassBase::ChunkCrossEntropyPassBase;

  void runOnOperation() override {
    SmallVector<SoftmaxCrossEntropyOp> losses;
    getOperation().walk(
        [&](SoftmaxCrossEntropyOp op) { losses.push_back(op); });
    for (SoftmaxCrossEntropyOp loss : losses)
      chunk(loss);
  }

private:
  void chunk(SoftmaxCrossEntropyOp loss) {
    auto type = cast<RankedTensorType>(loss.getLogits().getType());
    int64_t bytes = numElements(type) * type.getElementTypeBitWidth() / 8;
    if (bytes < minBytes)
      return;
    std::optional<LossHead> head = HeadFinder(loss).find();
    if (!head || head->samples() % sampleParts != 0)
      return;
    if (!axis.empty()) {
      int64_t ways = countClassParts(*head);
      if (ways == 1 || bytes / (ways * sampleParts) < minBytes)
        return;
    }
    int64_t count = chooseCount(head->samples() / sampleParts,
                                getTarget(loss).mostChunkSamples());
    if (count == 0)
      return;
    Block *block = loss->getBlock();
    Chunker(*head, count, sampleParts, !axis.empty()).run();
    eraseUnused(*head);
    sortTopologically(block);
    ++numChunked;
  }

  /// The number of parts in which the axis divides the classes, found by the
  /// dims that the ops' rules tie to them.
  int64_t countClassParts(LossHead &head) {
    dist::MeshAttr mesh = dist::getMesh(getOperation());
    int number = mesh ? mesh.findAxis(axis) : -1;
    if (number < 0)
      return 1;
    auto program = head.loss->getParentOfType<func::FuncOp>();
    DimOf classes{head.product.getResult(), 1};
    for (const DimClass &each : findDimClasses(program))
      if (llvm::is_contained(each.dims, classes))
        for (const DimOf &dim : each.dims)
          if (dist::ShardingAttr sharding = shardingOf(dim.value))
            if (llvm::is_contained(sharding.getDims()[dim.dim],
                                   Attribute(mesh.getNames()[number])))
              return mesh.getSizes()[number];
    return 1;
  }

  /// Its sharding before propagation; null if it has none yet.
  static dist::ShardingAttr shardingOf(Value value) {
    if (Operation *op = value.getDefiningOp())
      return op->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    StateOp state = findState(value);
    return state ? state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr)
                 : dist::ShardingAttr();
  }

  /// The whole forms, last first.
  static void eraseUnused(LossHead &head) {
    Block *block = head.loss->getBlock();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
} // namespace zc
