//===- SplitBatch.cpp - a program for a part of the batch -----------------===//
//
// Accumulation is sharding over time: dims that count samples are those of the
// program's factors that the inputs' belong to. A reshape may bring samples
// together in another dim, of another factor. Its sharding rule ties only the
// slowest parts of dims and is not used: SampleDims tells how samples lie.
// First all factors that count samples are found, then each op is checked, in
// the program's order.
//
// A sum over such a dim gives a term of the whole sum, and terms may only pass
// what is linear in them, or be divided by one another: a mean over the samples
// that count, which is then taken as micro-batches usually are, as equals.
//
//===----------------------------------------------------------------------===//
#include "passes/Autodiff/SplitBatch.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Analysis/ValueFactors.h"
#include "passes/Autodiff/SampleDims.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

class BatchSplitter {
public:
  BatchSplitter(func::FuncOp program, int64_t parts)
      : program(program), block(program.getBody().front()), parts(parts) {}

  FailureOr<SmallVector<PartKind>> run() {
    separate();
    tieDims();
    if (failed(findInputs()))
      return failure();
    spread();
    if (failed(findPlaces()) || failed(checkStates()) || failed(findKinds()))
      return failure();
    for (auto &[value, place] : places)
      setLocalType(value, place.dim);
    program.setType(
        FunctionType::get(program.getContext(), block.getArgumentTypes(),
                          block.getTerminator()->getOperandTypes()));
    SmallVector<PartKind> results;
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(kinds.lookup(value));
    return results;
  }

private:
  void separate();
  void tieDims();
  LogicalResult findInputs();
  std::optional<SampleDim> findPlace(Value value) const;
  bool spreadTo(Value to, Value from);
  void spread();
  LogicalResult findPlaces();
  LogicalResult markDims(Operation *op);
  LogicalResult markReshape(ReshapeOp op);
  LogicalResult mark(Operation *op, Value value, SampleDim place);
  LogicalResult checkStates();
  LogicalResult findKinds();
  FailureOr<PartKind> findKind(Operation *op);
  FailureOr<bool> sumsSamples(Operation *op, const ShardingRule &rule);
  void setLocalType(Value value, int64_t dim);

  InFlightDiagnostic refuse(Operation *op) {
    return op->emitError("'")
           << op->getName()
           << "' cannot be computed for a part of the samples: ";
  }

  func::FuncOp program;
  Block &block;
  int64_t parts, samples = 0;
  ValueFactors factors;
  /// How samples lie along the factors that count them.
  struct Samples {
    int64_t inner = 0, groups = 0;
  };
  DenseMap<int, Samples> counting;
  llvm::MapVector<Value, SampleDim> places;
  DenseMap<Value, PartKind> kinds; // those that are not Own
};

/// Clones constants and broadcasts per user: one may use them per sample,
/// another for the whole batch.
void BatchSplitter::separate() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if ((!isSplatConstant(&op) && !isa<BroadcastOp>(op)) || op.use_empty())
      continue;
    OpBuilder builder(&op);
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(op.getUses())))
      use.set(builder.clone(op)->getResult(0));
  }
}

void BatchSplitter::tieDims() {
  for (BlockArgument argument : block.getArguments())
    factors.name(argument);
  for (Operation &op : block.without_terminator()) {
    for (Value result : op.getResults())
      factors.name(result);
    if (!isa<ReshapeOp>(op))
      factors.add(&op, cast<ShardableOpInterface>(op).getShardingRule());
  }
}

LogicalResult BatchSplitter::findInputs() {
  for (BlockArgument argument : block.getArguments()) {
    auto dim = program.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                     kBatchDimAttr);
    if (!dim)
      continue;
    samples = shapeOf(argument)[dim.getInt()];
    places[argument] = {dim.getInt(), 1, samples};
    counting[factors.factorOf(argument, dim.getInt())] = {1, samples};
  }
  if (samples == 0)
    return program.emitError("no input counts samples, so that a step cannot "
                             "be accumulated from parts of the batch");
  if (samples % parts == 0)
    return success();
  int64_t below = samples / parts * parts;
  return program.emitError("the batch of ")
         << samples << " samples does not divide into " << parts
         << " micro-batches; the next sizes that do are "
         << (below ? std::to_string(below) + " and " : std::string())
         << below + parts;
}

/// The first dim of a value that counts samples.
std::optional<SampleDim> BatchSplitter::findPlace(Value value) const {
  for (int64_t dim = 0, rank = shapeOf(value).size(); dim < rank; ++dim)
    if (auto found = counting.find(factors.factorOf(value, dim));
        found != counting.end())
      return SampleDim{dim, found->second.inner, found->second.groups};
  return std::nullopt;
}

/// Takes from one side of a reshape which dim of the other counts samples;
/// whether that was not known.
bool BatchSplitter::spreadTo(Value to, Value from) {
  std::optional<SampleDim> place = findPlace(from);
  if (place)
    place = reshapeSampleDim(*place, shapeOf(from), shapeOf(to));
  if (!place)
    return false;
  const Samples there = {place->inner, place->groups};
  return counting.try_emplace(factors.factorOf(to, place->dim), there).second;
}

/// It ends: each round but the last finds another of the program's factors.
void BatchSplitter::spread() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto op : block.getOps<ReshapeOp>()) {
      changed |= spreadTo(op.getResult(), op.getInput());
      changed |= spreadTo(op.getInput(), op.getResult());
    }
  }
}

LogicalResult BatchSplitter::mark(Operation *op, Value value, SampleDim place) {
  if (place.groups % parts != 0)
    return refuse(op) << "it brings " << samples / place.groups
                      << " samples together in a '" << value.getType()
                      << "', and " << place.groups
                      << " such groups do not divide into " << parts
                      << " micro-batches";
  // Parts of the samples are the same in groups of any size.
  const SampleDim &known = places.insert({value, place}).first->second;
  if (known.dim == place.dim && known.size() == place.size())
    return success();
  return refuse(op) << "it brings samples together in a '" << value.getType()
                    << "'";
}

LogicalResult BatchSplitter::markReshape(ReshapeOp op) {
  auto carry = [&](Value from, Value to) -> LogicalResult {
    std::optional<SampleDim> place = findPlace(from);
    if (!place)
      return success();
    place = reshapeSampleDim(*place, shapeOf(from), shapeOf(to));
    if (place)
      return mark(op, to, *place);
    return refuse(op) << "'" << to.getType()
                      << "' has no dim that counts samples";
  };
  if (failed(carry(op.getInput(), op.getResult())))
    return failure();
  return carry(op.getResult(), op.getInput());
}

/// Marks the dims of an op's operands and results that count samples.
LogicalResult BatchSplitter::markDims(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return markReshape(reshape);
  ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  for (const RuleDim &each : listDims(rule)) {
    Value value = each.isResult ? Value(op->getResult(each.tensor))
                                : op->getOperand(each.tensor);
    auto found = counting.find(factors.factorOf(value, each.dim));
    if (found == counting.end())
      continue;
    if (each.isWhole() && !isSplatConstant(op))
      return refuse(op) << "it needs all of them at once";
    const Samples &here = found->second;
    if (failed(mark(op, value, {each.dim, here.inner, here.groups})))
      return failure();
  }
  return success();
}

LogicalResult BatchSplitter::findPlaces() {
  for (Operation &op : block.without_terminator())
    if (failed(markDims(&op)))
      return failure();
  return success();
}

/// A tensor that is stored once for all samples cannot be split by sample.
LogicalResult BatchSplitter::checkStates() {
  for (auto &[value, place] : places) {
    if (FlatSymbolRefAttr state = stateOf(value))
      return program.emitError("'")
             << state.getValue() << "' holds values for each of the " << samples
             << " samples of the batch, so that a step cannot be accumulated "
                "from parts of it";
    auto constant = value.getDefiningOp<ConstantOp>();
    if (constant && !isSplatConstant(constant))
      return refuse(constant) << "it differs from sample to sample";
  }
  return success();
}

FailureOr<bool> BatchSplitter::sumsSamples(Operation *op,
                                           const ShardingRule &rule) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto place = places.find(operand);
    if (place == places.end())
      continue;
    // A reshape wants dims whole, but keeps every sample's elements together.
    int factor = rule.operandDims[index][place->second.dim];
    if (factor == ShardingRule::kWhole)
      continue;
    FactorKind kind = rule.factors[factor].kind;
    if (kind == FactorKind::OtherReduction)
      return refuse(op) << "it compares all of them";
    if (kind == FactorKind::Sum)
      return true;
  }
  return false;
}

FailureOr<PartKind> BatchSplitter::findKind(Operation *op) {
  ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  FailureOr<bool> sums = sumsSamples(op, rule);
  if (failed(sums))
    return failure();
  PartKind result = *sums ? PartKind::Term : PartKind::Own;
  unsigned own = 0, separate = 0;
  bool mixed = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    PartKind kind = kinds.lookup(operand);
    Linearity linearity = rule.linearity[index];
    own += kind == PartKind::Own && linearity == Linearity::Joint;
    // Added to every part's sum, it would count as often.
    mixed |= *sums && linearity == Linearity::Joint &&
             !places.contains(operand) && !isZero(operand);
    if (kind == PartKind::Own)
      continue;
    separate += linearity == Linearity::Separate;
    bool isQuotient = isa<DivOp>(op) && index == 1 && kind == PartKind::Term &&
                      result == PartKind::Term;
    if (linearity == Linearity::None && !isQuotient)
      return refuse(op) << "it is not linear in a sum over all samples";
    mixed |= *sums || (result != PartKind::Own && result != kind);
    result = isQuotient ? PartKind::Mean : kind;
  }
  mixed |= separate > 1 || (result == PartKind::Term && !*sums && own > 0);
  if (mixed)
    return refuse(op)
           << "it combines a sum over all samples with another value";
  return result;
}

LogicalResult BatchSplitter::findKinds() {
  for (Operation &op : block.without_terminator()) {
    FailureOr<PartKind> kind = findKind(&op);
    if (failed(kind))
      return failure();
    if (*kind != PartKind::Own)
      for (Value result : op.getResults())
        kinds[result] = *kind;
  }
  return success();
}

void BatchSplitter::setLocalType(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= parts;
  type = withShape(type, shape);
  value.setType(type);
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(
        DenseElementsAttr::get(type, dense.getSplatValue<Attribute>()));
  }
}

} // namespace

FailureOr<SmallVector<PartKind>> splitBatch(func::FuncOp forward,
                                            int64_t parts) {
  return BatchSplitter(forward, parts).run();
}

} // namespace zc
