//===- MatchEpilogues.cpp - what follows a product, with the product ------===//
//
// A product's elements pass through bias, residual and activation in registers
// where the library knows them. In the backward, so do an activation's
// gradient, and the sums over tokens that are a bias's gradient.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Epilogue.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Fusion/Cuda/EpilogueRegion.h"
#include "passes/Fusion/Cuda/ProductTail.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_MATCHEPILOGUESPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

using cuda::addBlock;
using cuda::cloneBody;
using cuda::createLike;
using cuda::ProductTail;

Type elementOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

Value withoutReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

Value reshapeTo(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (reshape && reshape.getInput().getType() == type)
    return reshape.getInput();
  return ReshapeOp::create(builder, value.getLoc(), type, value);
}

/// Views of `old` that are as `value` is become `value`; others see it as they
/// saw `old`.
void replaceValue(OpBuilder &builder, Value old, Value value) {
  for (Operation *user : llvm::make_early_inc_range(old.getUsers()))
    if (auto view = dyn_cast<ReshapeOp>(user))
      if (view.getType() == value.getType())
        view.getResult().replaceAllUsesWith(value);
  old.replaceAllUsesWith(reshapeTo(builder, value, old.getType()));
}

/// The op of a region that the library computes as a product of two matrices of
/// one type, without an epilogue yet; or null.
MatmulOp plainProduct(FusedOp region) {
  if (!region || region.getLibrary() != StringRef("cublaslt.matmul") ||
      region->hasAttr(kEpilogueAttr))
    return {};
  auto product = dyn_cast<MatmulOp>(region.getBody().front().front());
  if (!product || shapeOfValue(product.getResult()).size() != 2 ||
      elementOf(product.getResult()) != elementOf(product.getLhs()))
    return {};
  return product;
}

//===----------------------------------------------------------------------===//
// Bias, residual, activation
//===----------------------------------------------------------------------===//

/// Joins a product and the region that reads it in one region; both are dead
/// afterwards.
class Joining {
public:
  Joining(FusedOp product, FusedOp nest, ProductTail tail)
      : product(product), nest(nest), tail(std::move(tail)), builder(nest),
        type(cast<RankedTensorType>(product.getResult(0).getType())) {}

  void run() {
    SmallVector<Value> inputs(product.getInputs());
    for (Value operand : {tail.addend, tail.bias, tail.auxiliary})
      if (operand)
        inputs.push_back(outerValue(operand));
    SmallVector<Type> types(tail.writesAuxiliary() ? 2 : 1, type);
    FusedOp joined =
        createLike(builder, product,
                   builder.getFusedLoc({product.getLoc(), nest.getLoc()}),
                   types, inputs, describe());
    fill(joined);
    replaceResult(tail.last, joined.getResult(0));
    if (tail.writesAuxiliary())
      replaceResult(tail.before, joined.getResult(1));
    if (!tail.isWhole)
      addRest(joined.getResult(0));
  }

private:
  DictionaryAttr describe() {
    NamedAttrList list;
    if (!tail.activation.empty())
      list.set(kActivationKey, builder.getStringAttr(tail.activation));
    auto mark = [&](bool has, StringRef key) {
      if (has)
        list.set(key, builder.getUnitAttr());
    };
    mark(bool(tail.addend), kAddendKey);
    mark(bool(tail.bias), kBiasKey);
    mark(tail.auxiliary || tail.writesAuxiliary(), kAuxiliaryKey);
    return list.getDictionary(builder.getContext());
  }

  /// A vector, a matrix like the product, or the bits of one.
  Value outerValue(Value argument) {
    Value value =
        nest.getInputs()[cast<BlockArgument>(argument).getArgNumber()];
    if (argument == tail.bias)
      return value;
    return argument == tail.auxiliary && tail.readsSigns()
               ? cuda::keepSigns(cuda::findRelu(value))
               : reshapeTo(builder, value, type);
  }

  void fill(FusedOp joined) {
    Block &block = addBlock(joined);
    IRMapping mapping;
    cloneBody(product, block, mapping);
    mapping.map(tail.product, block.back().getResult(0));
    unsigned next = product.getNumOperands();
    for (Value operand : {tail.addend, tail.bias, tail.auxiliary})
      if (operand)
        mapping.map(operand, block.getArgument(next++));
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    if (tail.readsSigns())
      readSigns(inner, mapping);
    for (Operation *op : tail.ops) {
      if (mapping.contains(op->getResult(0)))
        continue;
      Operation *copy = inner.clone(*op, mapping);
      copy->getResult(0).setType(type);
      if (auto broadcast = dyn_cast<BroadcastOp>(copy))
        broadcast.setDims(ArrayRef<int64_t>{1});
    }
    SmallVector<Value> yielded = {mapping.lookup(tail.last)};
    if (tail.writesAuxiliary())
      yielded.push_back(mapping.lookup(tail.before));
    YieldOp::create(inner, joined.getLoc(), yielded);
  }

  /// Replaces a select on a comparison by a select on bits.
  void readSigns(OpBuilder &inner, IRMapping &mapping) {
    auto select = tail.last.getDefiningOp<SelectOp>();
    Location loc = select.getLoc();
    auto positive = type.clone(inner.getI1Type());
    mapping.map(select.getCondition(),
                UnpackBitsOp::create(inner, loc, positive,
                                     mapping.lookup(tail.auxiliary), 1)
                    .getResult());
    Value zero = splat(inner, loc, type, 0);
    mapping.map(select.getOnFalse(), zero);
    mapping.map(select.getCondition().getDefiningOp<CompareOp>().getRhs(),
                zero);
  }

  void replaceResult(Value value, Value matrix) {
    Operation *end = nest.getBody().front().getTerminator();
    for (auto [index, yielded] : llvm::enumerate(end->getOperands()))
      if (yielded == value)
        replaceValue(builder, nest.getResult(index), matrix);
  }

  /// The nest behind what the product has taken over.
  void addRest(Value matrix) {
    Block &from = nest.getBody().front();
    Value input = reshapeTo(builder, matrix, tail.last.getType());
    SmallVector<Value> inputs = {input}, arguments = {tail.last};
    for (auto [argument, value] :
         llvm::zip(from.getArguments(), nest.getInputs()))
      if (isReadByRest(argument)) {
        arguments.push_back(argument);
        inputs.push_back(value);
      }
    SmallVector<Value> yielded, old;
    for (auto [value, result] :
         llvm::zip(from.getTerminator()->getOperands(), nest.getResults()))
      if (value != tail.last) {
        yielded.push_back(value);
        old.push_back(result);
      }
    auto rest =
        FusedOp::create(builder, nest.getLoc(), ValueRange(yielded).getTypes(),
                        inputs, StringAttr(), builder.getI64IntegerAttr(0),
                        builder.getDenseI64ArrayAttr({}));
    rest->setDiscardableAttrs(nest->getDiscardableAttrDictionary());
    Block &block = addBlock(rest);
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    IRMapping mapping;
    mapping.map(ValueRange(arguments), block.getArguments());
    for (Operation &op : from.without_terminator())
      if (!llvm::is_contained(tail.ops, &op))
        inner.clone(op, mapping);
    YieldOp::create(inner, rest.getLoc(),
                    llvm::map_to_vector(yielded, [&](Value value) {
                      return mapping.lookup(value);
                    }));
    for (auto [before, after] : llvm::zip(old, rest.getResults()))
      before.replaceAllUsesWith(after);
  }

  bool isReadByRest(BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return !llvm::is_contained(tail.ops, user);
    });
  }

  FusedOp product, nest;
  ProductTail tail;
  OpBuilder builder;
  RankedTensorType type;
};

/// The only region that reads the product, perhaps as another shape with the
/// same rows, through the argument that is returned; or null.
BlockArgument onlyReader(FusedOp product) {
  Value value = product.getResult(0);
  int64_t row = shapeOfValue(value).back();
  while (value.hasOneUse()) {
    OpOperand &use = *value.getUses().begin();
    if (auto nest = dyn_cast<FusedOp>(use.getOwner())) {
      bool fits = !nest.getLibrary() && !nest->hasAttr(kGradientsAttr) &&
                  !nest->hasAttr(kKeptGradientsAttr) &&
                  shapeOfValue(value).back() == row;
      return fits ? nest.getBody().front().getArgument(use.getOperandNumber())
                  : BlockArgument();
    }
    auto reshape = dyn_cast<ReshapeOp>(use.getOwner());
    if (!reshape)
      break;
    value = reshape.getResult();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Sums over tokens
//===----------------------------------------------------------------------===//

/// Columns of a value, summed: a region, perhaps with one that only rounds the
/// sums behind it.
struct ColumnSums {
  FusedOp region, rounding;
  Value value; // without reshapes
  int64_t rows, columns;

  Value result() {
    return rounding ? rounding.getResult(0) : region.getResult(0);
  }
};

/// The single op of a region that the library does not compute, on its only
/// operand.
template <typename Op> Op onlyOp(FusedOp region) {
  if (!region || region.getLibrary() || region.getNumOperands() != 1 ||
      region.getNumResults() != 1)
    return {};
  Block &body = region.getBody().front();
  auto op = dyn_cast<Op>(body.front());
  return op && op->getNextNode() == body.getTerminator() ? op : Op();
}

std::optional<ColumnSums> findSums(FusedOp region) {
  auto op = onlyOp<ReduceOp>(region);
  if (!op || op.getKind() != "sum")
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOfValue(op.getInput());
  int64_t last = shape.size() - 1;
  if (last < 1 || !llvm::equal(op.getDims(), llvm::seq<int64_t>(0, last)))
    return std::nullopt;
  ColumnSums sums = {
      region, {}, withoutReshapes(region.getOperand(0)), 1, shape.back()};
  for (int64_t size : shape.drop_back())
    sums.rows *= size;
  Value result = region.getResult(0);
  if (result.hasOneUse()) {
    auto next = dyn_cast<FusedOp>(*result.getUsers().begin());
    if (onlyOp<ConvertOp>(next))
      sums.rounding = next;
  }
  return sums;
}

/// A region and its sums, as one region.
class SumJoining {
public:
  /// `summed` is of the region's body, `dim` the dim that is summed over.
  SumJoining(FusedOp product, ColumnSums sums, Value summed, int64_t dim,
             StringRef which)
      : product(product), sums(sums), summed(summed), dim(dim), which(which),
        builder(product) {}

  void run() {
    SmallVector<Type> types(product.getResultTypes());
    Value old = sums.result();
    types.push_back(old.getType());
    NamedAttrList epilogue(
        product->getAttrOfType<DictionaryAttr>(kEpilogueAttr));
    epilogue.set(kSumsKey, builder.getStringAttr(which));
    FusedOp joined = createLike(
        builder, product,
        builder.getFusedLoc({product.getLoc(), sums.region.getLoc()}), types,
        product.getInputs(), epilogue.getDictionary(builder.getContext()));
    markGradients(joined);
    fill(joined);
    product.replaceAllUsesWith(
        joined.getResults().take_front(product.getNumResults()));
    old.replaceAllUsesWith(joined.getResults().back());
  }

private:
  /// The sums are a gradient where they were one.
  void markGradients(FusedOp joined) {
    FusedOp source = sums.rounding ? sums.rounding : sums.region;
    for (StringRef name : {kGradientsAttr, kKeptGradientsAttr}) {
      if (!source->hasAttr(name))
        continue;
      SmallVector<int64_t> results;
      if (auto own = joined->getAttrOfType<DenseI64ArrayAttr>(name))
        llvm::append_range(results, own.asArrayRef());
      results.push_back(product.getNumResults());
      joined->setAttr(name, builder.getDenseI64ArrayAttr(results));
    }
  }

  void fill(FusedOp joined) {
    Block &block = addBlock(joined);
    IRMapping mapping;
    cloneBody(product, block, mapping);
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    Value added = ReduceOp::create(
        inner, sums.region.getLoc(), sums.region.getResult(0).getType(), "sum",
        mapping.lookup(summed), ArrayRef<int64_t>{dim});
    if (sums.rounding) {
      Operation &round = sums.rounding.getBody().front().front();
      IRMapping rounded;
      rounded.map(round.getOperand(0), added);
      added = inner.clone(round, rounded)->getResult(0);
    }
    Operation *end = product.getBody().front().getTerminator();
    SmallVector<Value> yielded;
    for (Value value : end->getOperands())
      yielded.push_back(mapping.lookup(value));
    yielded.push_back(added);
    YieldOp::create(inner, joined.getLoc(), yielded);
  }

  FusedOp product;
  ColumnSums sums;
  Value summed;
  int64_t dim;
  StringRef which;
  OpBuilder builder;
};

/// A gradient's product whose result is what is summed.
bool joinToGradient(ColumnSums sums) {
  auto region = sums.value.getDefiningOp<FusedOp>();
  auto epilogue = region ? region->getAttrOfType<DictionaryAttr>(kEpilogueAttr)
                         : DictionaryAttr();
  auto activation =
      epilogue ? epilogue.getAs<StringAttr>(kActivationKey) : StringAttr();
  if (!activation || epilogue.contains(kSumsKey) ||
      !activation.getValue().ends_with("_grad") ||
      sums.value != region.getResult(0) ||
      shapeOfValue(sums.value).back() != sums.columns ||
      elementOf(sums.value) != elementOf(sums.result()))
    return false;
  Value summed = region.getBody().front().getTerminator()->getOperand(0);
  SumJoining(region, sums, summed, 0, "columns").run();
  return true;
}

void collectReaders(Value value, SmallVectorImpl<FusedOp> &readers) {
  for (Operation *user : value.getUsers())
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      collectReaders(reshape.getResult(), readers);
    else if (auto region = dyn_cast<FusedOp>(user);
             region && !region->use_empty()) // joined ones are dead
      readers.push_back(region);
}

/// A weight's gradient, which has what is summed for a factor.
bool joinToFactor(ColumnSums sums) {
  SmallVector<FusedOp> readers;
  collectReaders(sums.value, readers);
  llvm::sort(readers,
             [](FusedOp a, FusedOp b) { return a->isBeforeInBlock(b); });
  for (FusedOp region : readers) {
    MatmulOp product = plainProduct(region);
    if (!product || elementOf(product.getResult()) != elementOf(sums.result()))
      continue;
    auto isSummed = [&](Value factor) {
      Value outside =
          region.getInputs()[cast<BlockArgument>(factor).getArgNumber()];
      return withoutReshapes(outside) == sums.value &&
             shapeOfValue(factor) == ArrayRef<int64_t>{sums.rows, sums.columns};
    };
    bool lhs = product.getTransposeLhs() && isSummed(product.getLhs());
    bool rhs = !product.getTransposeRhs() && isSummed(product.getRhs());
    if ((!lhs && !rhs) || leadsTo(sums.region, region))
      continue;
    SumJoining(region, sums, lhs ? product.getLhs() : product.getRhs(), 0,
               lhs ? "lhs" : "rhs")
        .run();
    return true;
  }
  return false;
}

struct MatchEpilogues : public impl::MatchEpiloguesPassBase<MatchEpilogues> {
  using MatchEpiloguesPassBase::MatchEpiloguesPassBase;

  void runOnOperation() override {
    const Target &target = getTarget(getOperation());
    if (!target.fusesEpilogues())
      return;
    reluBits = target.takesReluBits();
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.isDeclaration())
        continue;
      Block &block = program.getBody().front();
      joinTails(block);
      eraseDead(block);
      if (target.fusesSums()) {
        joinSums(block);
        eraseDead(block);
      }
      sortTopologically(&block);
    }
  }

private:
  static void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  void joinTails(Block &block) {
    for (FusedOp region : llvm::make_early_inc_range(block.getOps<FusedOp>())) {
      if (!plainProduct(region) || region->hasAttr(kGradientsAttr) ||
          region->hasAttr(kKeptGradientsAttr))
        continue;
      BlockArgument reader = onlyReader(region);
      if (!reader)
        continue;
      auto nest = cast<FusedOp>(reader.getOwner()->getParentOp());
      auto tail = cuda::findTail(nest, reader, {activations, reluBits});
      if (!tail)
        continue;
      Joining(region, nest, *tail).run();
      ++numTails;
    }
  }

  void joinSums(Block &block) {
    SmallVector<FusedOp> regions(block.getOps<FusedOp>());
    for (FusedOp region : regions) {
      auto sums = findSums(region);
      if (sums && !region->use_empty() &&
          (joinToGradient(*sums) || joinToFactor(*sums)))
        ++numSums;
    }
  }

  bool reluBits = false; // see Target::takesReluBits
};

} // namespace
} // namespace zc
