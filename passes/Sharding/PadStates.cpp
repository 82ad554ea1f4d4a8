//===- PadStates.cpp - dims that do not divide evenly ---------------------===//
#include "passes/Sharding/PadStates.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// The loop of an op over dim `dim` of an operand, where zeros behind that dim
/// are neutral; nothing where they are not.
static std::optional<int> findNeutralFactor(OpOperand &use, int64_t dim) {
  Operation *op = use.getOwner();
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable ||
      llvm::count(op->getOperands(), use.get()) > 1) // in two places at once
    return std::nullopt;
  ShardingRule rule = shardable.getShardingRule();
  unsigned operand = use.getOperandNumber();
  int factor = rule.operandDims[operand][dim];
  auto type = cast<ShapedType>(use.get().getType());
  if (factor == ShardingRule::kWhole ||
      rule.factors[factor].kind == FactorKind::OtherReduction ||
      rule.factors[factor].size != type.getDimSize(dim))
    return std::nullopt;
  // A quotient of zeros is none.
  for (auto [dims, linearity] : llvm::zip(rule.operandDims, rule.linearity))
    if (linearity == Linearity::None && llvm::is_contained(dims, factor))
      return std::nullopt;
  return factor;
}

/// `type` with every dim of one loop `size` elements long.
static RankedTensorType padType(Type type, ArrayRef<int> dims, int factor,
                                int64_t size) {
  SmallVector<int64_t> shape(cast<ShapedType>(type).getShape());
  for (auto [dim, mine] : llvm::enumerate(dims))
    if (mine == factor)
      shape[dim] = size;
  return withShape(type, shape);
}

/// The first elements along each dim.
static Value cutOff(OpBuilder &builder, Value value, Type type) {
  int64_t rank = cast<ShapedType>(type).getRank();
  return SliceOp::create(builder, value.getLoc(), type, value,
                         SmallVector<int64_t>(rank, 0),
                         SmallVector<int64_t>(rank, 1));
}

/// Whether an op only makes more of what it reads: then it is better cut off
/// before.
static bool onlyRepeats(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost && cost.getFlops() == 0 && op->getNumOperands() == 1 &&
         numElements(op->getResult(0).getType()) >
             numElements(op->getOperand(0).getType());
}

/// Puts in place of an op one whose loop `factor` is `size` long; its operand
/// `given` is so already.
static void padLoop(Operation *op, unsigned given, int factor, int64_t size) {
  ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  OpBuilder builder(op);
  Operation *wide = op->clone();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Type type = operand.get().getType();
    RankedTensorType to = padType(type, rule.operandDims[index], factor, size);
    if (index == given || to == type)
      continue;
    SmallVector<int64_t> none(to.getRank(), 0);
    wide->setOperand(index, PadOp::create(builder, op->getLoc(), to,
                                          operand.get(), none, none));
  }
  builder.insert(wide);
  SmallVector<Type> types;
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.resultDims))
    types.push_back(padType(result.getType(), dims, factor, size));
  cast<ShardableOpInterface>(wide).setPartTypes(types);
  for (auto [result, wider] : llvm::zip(op->getResults(), wide->getResults()))
    result.replaceAllUsesWith(wider.getType() == result.getType()
                                  ? wider
                                  : cutOff(builder, wider, result.getType()));
  op->erase();
}

static void padArgument(BlockArgument argument, int64_t dim,
                        RankedTensorType type) {
  Type before = argument.getType();
  SmallVector<std::pair<OpOperand *, int>> uses;
  for (OpOperand &use : argument.getUses())
    uses.push_back({&use, *findNeutralFactor(use, dim)});
  argument.setType(type);
  for (auto [use, factor] : uses) {
    Operation *op = use->getOwner();
    OpBuilder builder(op);
    if (onlyRepeats(op))
      use->set(cutOff(builder, argument, before));
    else
      padLoop(op, use->getOperandNumber(), factor, type.getDimSize(dim));
  }
  auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  program.setType(FunctionType::get(program.getContext(),
                                    argument.getOwner()->getArgumentTypes(),
                                    program.getResultTypes()));
}

Operation *padState(StateOp state, int64_t dim, int64_t size) {
  SmallVector<BlockArgument> arguments;
  auto module = state->getParentOfType<ModuleOp>();
  for (auto program : module.getOps<func::FuncOp>())
    if (Value argument = findStateArgument(program, state.getSymName()))
      arguments.push_back(cast<BlockArgument>(argument));
  for (BlockArgument argument : arguments)
    for (OpOperand &use : argument.getUses())
      if (!findNeutralFactor(use, dim))
        return use.getOwner();
  RankedTensorType type = state.getTensorType();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  if (!state->hasAttr(dist::kWholeAttr))
    state->setAttr(dist::kWholeAttr, TypeAttr::get(type));
  state.setType(withShape(type, shape));
  for (BlockArgument argument : arguments)
    padArgument(argument, dim, state.getTensorType());
  return nullptr;
}

} // namespace zc
