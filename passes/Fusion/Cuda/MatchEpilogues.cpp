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
#include "passes/Analysis/Tensors.h"
#include "passes/Fusion/Cuda/EpilogueRegion.h"
#include "passes/Fusion/Cuda/JoinSums.h"
#include "passes/Fusion/Cuda/ProductTail.h"
#include "passes/Fusion/Passes.h"
#include "passes/Target/Cuda/LibraryPatterns.h"
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
using cuda::plainProduct;
using cuda::ProductTail;

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
    SmallVector<int64_t> offloaded; // of the rest's results
    for (auto [value, result] :
         llvm::zip(from.getTerminator()->getOperands(), nest.getResults()))
      if (value != tail.last) {
        if (llvm::is_contained(nest.getOffloaded(), result.getResultNumber()))
          offloaded.push_back(old.size());
        yielded.push_back(value);
        old.push_back(result);
      }
    auto rest = FusedOp::create(builder, nest.getLoc(),
                                ValueRange(yielded).getTypes(), inputs);
    rest.getProperties() = nest.getProperties();
    rest.setOffloaded(offloaded);
    rest.setGradients({}); // onlyReader() takes none that has any
    rest.setKeptGradients({});
    rest.setSharedBuffers({}); // the operands are others
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
  int64_t row = shapeOf(value).back();
  while (value.hasOneUse()) {
    OpOperand &use = *value.getUses().begin();
    if (auto nest = dyn_cast<FusedOp>(use.getOwner())) {
      bool fits = !nest.getLibrary() && nest.getGradients().empty() &&
                  nest.getKeptGradients().empty() &&
                  shapeOf(value).back() == row;
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

struct MatchEpilogues : public impl::MatchEpiloguesPassBase<MatchEpilogues> {
  using MatchEpiloguesPassBase::MatchEpiloguesPassBase;

  void runOnOperation() override {
    const Target &target = getTarget(getOperation());
    if (!target.has(cuda::kEpilogue))
      return;
    reluBits = target.has(cuda::kReluBits);
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.isDeclaration())
        continue;
      Block &block = program.getBody().front();
      joinTails(block);
      eraseDead(block);
      if (target.has(cuda::kSums)) {
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
      if (!plainProduct(region) || !region.getGradients().empty() ||
          !region.getKeptGradients().empty())
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
      if (!region->use_empty() && cuda::joinSums(region))
        ++numSums;
    }
  }

  bool reluBits = false; // see cuda::kReluBits
};

} // namespace
} // namespace zc
