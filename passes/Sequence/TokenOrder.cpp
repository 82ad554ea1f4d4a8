//===- TokenOrder.cpp - tokens in another order ---------------------------===//
#include "passes/Sequence/TokenOrder.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/Tokens.h"
#include "passes/Analysis/OpWords.h"
#include "passes/Sequence/TokenMixing.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

static bool isOfIntegers(Value value) {
  return isa<IntegerType>(getElementTypeOrSelf(value.getType()));
}

static bool isSplat(Operation *op) {
  auto dense = dyn_cast<DenseElementsAttr>(cast<ConstantOp>(op).getValue());
  return dense && dense.isSplat();
}

TokenOrder::TokenOrder(func::FuncOp program, const AttentionParts &parts)
    : program(program), parts(parts), tokens(program) {
  tokens.markAttention();
}

bool TokenOrder::prefersHeads(bool comeApart) const {
  bool divides = true;
  func::FuncOp(program)->walk([&](Operation *op) {
    if (isAttention(op))
      divides &= zc::prefersHeads(op, parts, comeApart);
  });
  return divides;
}

bool TokenOrder::isRefused() {
  return !findMixing(program, tokens, parts.tokens).empty();
}

//===----------------------------------------------------------------------===//
// Obstacles
//===----------------------------------------------------------------------===//

OrderObstacle TokenOrder::findObstacle(bool isAsked) {
  OrderObstacle found;
  program.walk([&](Operation *op) {
    if (!isAttention(op) || !found.why.empty())
      return;
    found = {op, findObstacleOf(cast<AttentionOp>(op))};
  });
  if (!found.why.empty())
    return found;
  if (!hasRing())
    return {nullptr, "an attention is several ops, for something changes its "
                     "scores or weights"};
  if (tokens.mergesTokens())
    return {nullptr, "the model merges tokens that stand side by side"};
  for (OpOperand *use : tokens.getGathers())
    if (!isa<ShardableOpInterface, func::ReturnOp>(use->getOwner()))
      return {use->getOwner(), wordsFor(use->getOwner()) +
                                   " reads tokens in an order that is not "
                                   "known"};
  program.walk([&](Operation *op) {
    if (!isAsked && found.why.empty() && looksUpTokens(op))
      found = {op, wordsFor(op) + " looks tokens up by their numbers"};
  });
  return found;
}

std::string TokenOrder::findObstacleOf(AttentionOp op) const {
  const int64_t count = op.getQuery().getType().getDimSize(kTokens);
  const int64_t chunks = 2 * parts.tokens;
  if (!op.getCausal() && hasMaskOfQueries(op))
    return "an attention has a mask of queries and keys that does not come "
           "apart in a causal one and one of keys";
  if (!op.getCausal())
    return "an attention is not causal: its work is even as it is";
  if (hasMaskOfQueries(op))
    return "an attention has a mask of queries and keys beside the causal one";
  if (count % chunks != 0)
    return std::to_string(count) + " tokens do not divide in " +
           std::to_string(chunks) + " chunks, two for each rank";
  return "";
}

/// Whether the op wants tokens by their numbers. Each rank looks for those that
/// it has (the finer rule); but numbers are of the model's order.
bool TokenOrder::looksUpTokens(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable || isAttention(op))
    return false;
  ShardingRule rule = shardable.getShardingRule();
  ShardingRule finer = shardable.getFinerRule();
  for (auto [operand, dims] : llvm::enumerate(rule.operandDims))
    for (auto [dim, factor] : llvm::enumerate(dims))
      if (factor == ShardingRule::kWhole &&
          finer.operandDims[operand][dim] != ShardingRule::kWhole &&
          tokens.isMarked({op->getOperand(operand), int64_t(dim)}))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Readers of tokens in their order
//===----------------------------------------------------------------------===//

bool TokenOrder::hasTokens(Value value) {
  for (int64_t dim = 0; dim < rankOf(value); ++dim)
    if (tokens.isMarked({value, dim}))
      return true;
  return false;
}

/// The dims of tokens that an op wants whole; those of attention are its own.
SmallVector<int64_t> TokenOrder::findReadDims(OpOperand &use) {
  auto shardable = dyn_cast<ShardableOpInterface>(use.getOwner());
  SmallVector<int64_t> read;
  if (!shardable || isAttention(shardable))
    return read;
  ShardingRule rule = shardable.getShardingRule();
  for (auto [dim, factor] :
       llvm::enumerate(rule.operandDims[use.getOperandNumber()]))
    if (factor == ShardingRule::kWhole &&
        tokens.isMarked({use.get(), int64_t(dim)}))
      read.push_back(int64_t(dim));
  return read;
}

bool TokenOrder::readsTokens(Operation *op) {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &use) {
    return !findReadDims(use).empty();
  });
}

int64_t TokenOrder::countTokenDims(Value value) {
  int64_t count = 0;
  for (int64_t dim = 0; dim < rankOf(value); ++dim)
    count += tokens.isMarked({value, dim});
  return count;
}

/// Whether an op wants all dims of tokens that an operand has whole.
bool TokenOrder::readsAll(OpOperand &use) {
  const size_t read = findReadDims(use).size();
  return read != 0 && int64_t(read) == countTokenDims(use.get());
}

/// Integers that are computed from integers alone, as masks and positions are.
DenseSet<Value> TokenOrder::findIntegers() {
  DenseSet<Value> found;
  for (BlockArgument argument : program.getArguments())
    if (isOfIntegers(argument))
      found.insert(argument);
  for (Operation &op : program.getBody().front().without_terminator())
    if (llvm::all_of(op.getResults(), isOfIntegers) &&
        llvm::all_of(op.getOperands(), [&](Value operand) {
          return found.contains(operand) || !hasTokens(operand);
        }))
      found.insert(op.result_begin(), op.result_end());
  return found;
}

/// The ops of running sums, and what is computed from these: rows of tokens,
/// not what has an element for each pair.
void TokenOrder::addSums(const DenseSet<Value> &integers) {
  for (Operation &op : program.getBody().front().without_terminator()) {
    if (op.getNumResults() == 0 || !integers.contains(op.getResult(0)))
      continue;
    const bool isOfSums =
        llvm::any_of(op.getOperands(),
                     [&](Value operand) { return early.contains(operand); }) &&
        llvm::all_of(op.getResults(),
                     [&](Value result) { return countTokenDims(result) < 2; });
    if (isOfSums || readsTokens(&op))
      early.insert(op.result_begin(), op.result_end());
  }
}

/// Integers stay in the model's order where a running sum counts them in it, on
/// the way there and behind: they are whole on every rank, which costs little.
/// Others change places: a mask of queries and keys must not be whole.
void TokenOrder::findEarly() {
  const DenseSet<Value> integers = findIntegers();
  addSums(integers);
  for (Operation &op : llvm::reverse(program.getBody().front())) {
    const bool isOfSums = isEarly(&op);
    for (OpOperand &use : op.getOpOperands())
      if (integers.contains(use.get()) && (isOfSums || readsAll(use)))
        early.insert(use.get());
  }
}

bool TokenOrder::isEarly(Operation *op) {
  return op->getNumResults() != 0 && early.contains(op->getResult(0));
}

/// Whether an operand stays as the model has it.
bool TokenOrder::staysInOrder(OpOperand &use) {
  return early.contains(use.get()) &&
         (isEarly(use.getOwner()) || isa<func::ReturnOp>(use.getOwner()) ||
          llvm::any_of(readers,
                       [&](const Reader &each) { return each.use == &use; }));
}

/// Ops that want some dims of tokens whole.
void TokenOrder::findReaders() {
  for (Operation &op : program.getBody().front().without_terminator()) {
    if (isEarly(&op))
      continue;
    for (OpOperand &use : op.getOpOperands()) {
      Reader reader{&use, findReadDims(use)};
      if (reader.dims.empty())
        continue;
      reading.insert(&op);
      readers.push_back(std::move(reader));
    }
  }
}

void TokenOrder::readInOrder(const Reader &reader) {
  if (staysInOrder(*reader.use))
    return;
  // Stages of a pipeline are told by nodes.
  OpBuilder builder(reader.use->getOwner());
  for (int64_t dim : reader.dims)
    reader.use->set(gather(builder, reader.use->getOwner()->getLoc(),
                           reader.use->get(), dim, /*inverse=*/true));
}

//===----------------------------------------------------------------------===//
// Another order
//===----------------------------------------------------------------------===//

void TokenOrder::run(GathersKeys gathersKeys) {
  findEarly();
  findReaders();
  const SmallVector<Result> results = findResults();
  const SmallVector<Mask> masks = findMasks(gathersKeys);
  for (const DimOf &source : findSources())
    reorder(source);
  for (const Reader &reader : readers)
    readInOrder(reader);
  for (const Mask &mask : masks)
    orderMask(mask);
  for (const Result &result : results)
    orderResult(result);
}

SmallVector<TokenOrder::Mask> TokenOrder::findMasks(GathersKeys gathersKeys) {
  SmallVector<Mask> masks;
  program.walk([&](AttentionOp op) {
    if (!op.getMask())
      return;
    const bool isOrdered = tokens.isMarked({op.getMask(), kMaskKeys});
    if (isOrdered == gathersKeys(op))
      masks.push_back({op, isOrdered});
  });
  return masks;
}

void TokenOrder::orderMask(Mask mask) {
  OpBuilder builder(mask.attention);
  // Stages of a pipeline are told by nodes.
  mask.attention.getMaskMutable().assign(
      gather(builder, mask.attention.getLoc(), mask.attention.getMask(),
             kMaskKeys, /*inverse=*/mask.isOrdered));
}

SmallVector<DimOf> TokenOrder::findSources() {
  SmallVector<DimOf> sources;
  for (BlockArgument argument : program.getArguments())
    collect(argument, sources);
  for (Operation &op : program.getBody().front())
    for (Value result : op.getResults())
      if (!isa<ConstantOp>(op) || !isSplat(&op))
        collect(result, sources);
  return sources;
}

/// The elements that a broadcast repeats have no order.
static bool isRepeated(DimOf dim) {
  return isa_and_nonnull<BroadcastOp>(dim.value.getDefiningOp()) &&
         isRepeatedAlong(dim);
}

/// Dims of tokens that an op makes, and does not take from an operand in
/// another order already.
void TokenOrder::collect(Value value, SmallVectorImpl<DimOf> &sources) {
  const bool isEarly = early.contains(value);
  if (isEarly && llvm::all_of(value.getUses(), [&](OpOperand &use) {
        return staysInOrder(use);
      }))
    return;
  for (int64_t dim = 0; dim < rankOf(value); ++dim) {
    DimOf each{value, dim};
    if (tokens.isMarked(each) && !isRepeated(each) &&
        (isEarly || !comesFromOperand(each)))
      sources.push_back(each);
  }
}

bool TokenOrder::comesFromOperand(DimOf dim) {
  Operation *op = dim.value.getDefiningOp();
  if (!op)
    return false;
  return reading.contains(op)
             ? comesFromRead(dim)
             : llvm::any_of(op->getOperands(),
                            [&](Value operand) { return hasTokens(operand); });
}

/// The same of an op that reads tokens in their order: its loop over the dim
/// must be one over an operand's tokens.
bool TokenOrder::comesFromRead(DimOf dim) {
  auto result = cast<OpResult>(dim.value);
  Operation *op = result.getOwner();
  ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  const int factor = rule.resultDims[result.getResultNumber()][dim.dim];
  if (factor == ShardingRule::kWhole)
    return false;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operandDims))
    for (auto [place, each] : llvm::enumerate(dims))
      if (each == factor && tokens.isMarked({operand, int64_t(place)}))
        return true;
  return false;
}

/// Stages of a pipeline are told by nodes: an input's order belongs to the
/// first that reads it.
static void setNode(Operation *order, Value input) {
  if (!isa<BlockArgument>(input))
    return;
  Operation *first = nullptr;
  for (Operation *user : order->getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  if (first && !isa<func::ReturnOp>(first))
    order->setLoc(first->getLoc());
}

void TokenOrder::reorder(DimOf source) {
  OpBuilder builder(program.getContext());
  if (Operation *op = source.value.getDefiningOp())
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPointToStart(&program.getBody().front());
  Value ordered = gather(builder, source.value.getLoc(), source.value,
                         source.dim, /*inverse=*/false);
  source.value.replaceUsesWithIf(ordered, [&](OpOperand &use) {
    return use.getOwner() != ordered.getDefiningOp() && !staysInOrder(use);
  });
  setNode(ordered.getDefiningOp(), source.value);
}

SmallVector<TokenOrder::Result> TokenOrder::findResults() {
  SmallVector<Result> results;
  Operation *end = program.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    if (early.contains(value))
      continue;
    Result result{unsigned(index), tokens.findReadDim(index, parts.tokens), {}};
    for (int64_t dim = 0; dim < rankOf(value); ++dim)
      if (tokens.isMarked({value, dim}) && dim != result.kept)
        result.dims.push_back(dim);
    results.push_back(std::move(result));
  }
  return results;
}

void TokenOrder::orderResult(const Result &result) {
  Operation *end = program.getBody().front().getTerminator();
  OpBuilder builder(end);
  OpOperand &use = end->getOpOperand(result.index);
  if (result.kept)
    keepOrder(result.index, *result.kept);
  for (int64_t dim : result.dims)
    use.set(gather(builder, use.get().getLoc(), use.get(), dim,
                   /*inverse=*/true));
}

/// Each rank has its tokens of a result: the host that reads them all puts them
/// back.
void TokenOrder::keepOrder(unsigned result, int64_t dim) {
  Builder builder(program.getContext());
  program.setResultAttr(result, kTokenDimAttr, builder.getI64IntegerAttr(dim));
  program.setResultAttr(result, kTokenOrderAttr,
                        builder.getStringAttr(kZigzag));
}

Value TokenOrder::gather(OpBuilder &builder, Location loc, Value value,
                         int64_t dim, bool inverse) {
  const int64_t count = cast<RankedTensorType>(value.getType()).getDimSize(dim);
  auto order =
      makeZigzagOrder(builder.getContext(), count, parts.tokens, inverse);
  Value places = ConstantOp::create(
      builder, loc, cast<RankedTensorType>(order.getType()), order);
  return GatherOp::create(builder, loc, value.getType(), value, places,
                          builder.getI64IntegerAttr(dim),
                          builder.getI64IntegerAttr(0), IntegerAttr());
}

} // namespace zc
