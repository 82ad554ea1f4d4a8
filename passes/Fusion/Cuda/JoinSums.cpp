//===- JoinSums.cpp - sums over tokens, with a product --------------------===//
#include "passes/Fusion/Cuda/JoinSums.h"

#include "dialects/Train/Epilogue.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Fusion/Cuda/EpilogueRegion.h"

using namespace mlir;
using namespace zc::train;

namespace zc::cuda {
namespace {

Value withoutReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

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
  if (!op || op.getKind() != ReduceKind::Sum)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
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
    NamedAttrList epilogue(product.getJoined(kEpilogueKey));
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
    auto withSums = [&](ArrayRef<int64_t> own) {
      SmallVector<int64_t> results(own);
      results.push_back(product.getNumResults());
      return results;
    };
    if (!source.getGradients().empty())
      joined.setGradients(withSums(joined.getGradients()));
    if (!source.getKeptGradients().empty())
      joined.setKeptGradients(withSums(joined.getKeptGradients()));
  }

  void fill(FusedOp joined) {
    Block &block = addBlock(joined);
    IRMapping mapping;
    cloneBody(product, block, mapping);
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    Value added = ReduceOp::create(
        inner, sums.region.getLoc(), sums.region.getResult(0).getType(),
        ReduceKind::Sum, mapping.lookup(summed), ArrayRef<int64_t>{dim});
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
  DictionaryAttr epilogue =
      region ? region.getJoined(kEpilogueKey) : DictionaryAttr();
  auto activation =
      epilogue ? epilogue.getAs<StringAttr>(kActivationKey) : StringAttr();
  if (!activation || epilogue.contains(kSumsKey) ||
      !activation.getValue().ends_with("_grad") ||
      sums.value != region.getResult(0) ||
      shapeOf(sums.value).back() != sums.columns ||
      getElementTypeOrSelf(sums.value) != getElementTypeOrSelf(sums.result()))
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
    if (!product || getElementTypeOrSelf(product.getResult()) !=
                        getElementTypeOrSelf(sums.result()))
      continue;
    auto isSummed = [&](Value factor) {
      Value outside =
          region.getInputs()[cast<BlockArgument>(factor).getArgNumber()];
      return withoutReshapes(outside) == sums.value &&
             shapeOf(factor) == ArrayRef<int64_t>{sums.rows, sums.columns};
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

} // namespace

bool joinSums(FusedOp region) {
  auto sums = findSums(region);
  return sums && (joinToGradient(*sums) || joinToFactor(*sums));
}

} // namespace zc::cuda
