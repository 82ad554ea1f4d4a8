//===- FormRegions.cpp - the regions that become kernels ------------------===//
//
// After this pass the values that exist in memory are fixed: results of
// regions, arguments, and views of them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Fusion/Passes.h"
#include "passes/Fusion/RegionGrouping.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_FORMREGIONSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// Turns one group into a train.fused in front of the group's last op.
class RegionBuilder {
public:
  explicit RegionBuilder(const RegionGroup &group)
      : group(group), members(group.ops.begin(), group.ops.end()) {}

  FusedOp build() {
    collectResults();
    OpBuilder builder(group.ops.back());
    SmallVector<Location> locations;
    for (Operation *op : group.ops)
      locations.push_back(op->getLoc());
    Location loc = builder.getFusedLoc(locations);
    SmallVector<Value> inputs = collectInputs();
    SmallVector<Type> types;
    for (Value result : results)
      types.push_back(result.getType());
    auto region = FusedOp::create(builder, loc, types, inputs);
    fill(region, inputs);
    replace(region);
    region.setSharedBuffers(sharedBuffers(region));
    return region;
  }

private:
  bool isOutside(Operation *user) {
    if (RegionGrouping::isRepeatedWidening(user))
      return llvm::any_of(user->getUsers(),
                          [&](Operation *reader) { return isOutside(reader); });
    return !members.contains(user);
  }

  void collectResults() {
    for (Operation *op : group.ops)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return isOutside(user); }))
          results.push_back(result);
    // An op may have results that nobody reads, but a kernel writes something.
    if (results.empty())
      results.push_back(group.ops.back()->getResult(0));
  }

  /// Operands from outside. A loop nest reads each value once; another op keeps
  /// its operand list, duplicates included, so that libraries recognise it.
  SmallVector<Value> collectInputs() {
    SmallVector<Value> inputs;
    auto add = [&](Value value) {
      if (!group.isLoopNest || !llvm::is_contained(inputs, value))
        inputs.push_back(value);
    };
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands())
        collectInput(op, operand, add);
    return inputs;
  }

  void collectInput(Operation *user, Value value,
                    llvm::function_ref<void(Value)> add) {
    Operation *producer = value.getDefiningOp();
    if (producer && members.contains(producer))
      return;
    if (producer && RegionGrouping::isRepeated(producer, user)) {
      for (Value operand : producer->getOperands())
        collectInput(producer, operand, add);
      return;
    }
    add(value);
  }

  void fill(FusedOp region, ArrayRef<Value> inputs) {
    Block *block = new Block();
    region.getBody().push_back(block);
    for (Value input : inputs)
      block->addArgument(input.getType(), input.getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(block);
    IRMapping mapping;
    if (group.isLoopNest)
      mapping.map(inputs, block->getArguments());
    unsigned next = 0;
    for (Operation *op : group.ops) {
      for (Value operand : op->getOperands())
        cloneOperand(builder, op, operand, mapping, *block, next);
      cloneOp(builder, op, mapping, *block);
    }
    SmallVector<Value> yielded;
    for (Value result : results)
      yielded.push_back(mapping.lookup(result));
    YieldOp::create(builder, region.getLoc(), yielded);
  }

  /// Makes `value`, an operand of `user`, available in the region.
  void cloneOperand(OpBuilder &builder, Operation *user, Value value,
                    IRMapping &mapping, Block &block, unsigned &next) {
    Operation *producer = value.getDefiningOp();
    bool repeated = producer && !members.contains(producer) &&
                    RegionGrouping::isRepeated(producer, user);
    if (!repeated) {
      if (!group.isLoopNest && !(producer && members.contains(producer)))
        singleOperands.push_back(block.getArgument(next++));
      return;
    }
    if (!mapping.contains(value)) {
      for (Value operand : producer->getOperands())
        cloneOperand(builder, producer, operand, mapping, block, next);
      builder.clone(*producer, mapping)->removeAttr(kRepeatedAttr);
    }
    if (!group.isLoopNest)
      singleOperands.push_back(mapping.lookup(value));
  }

  void cloneOp(OpBuilder &builder, Operation *op, IRMapping &mapping,
               Block &block) {
    Operation *copy = builder.clone(*op, mapping);
    removeOpMarks(copy);
    if (auto sum = dyn_cast<AddOp>(copy))
      sum.setRunningSum(false);
    if (!group.isLoopNest)
      copy->setOperands(singleOperands);
  }

  void replace(FusedOp region) {
    SmallVector<int64_t> gradients, kept;
    for (auto [index, result] : llvm::enumerate(results)) {
      auto made = cast<OpResult>(result);
      if (isGradient(made))
        gradients.push_back(index);
      if (isListed(made, kKeptGradientsAttr))
        kept.push_back(index);
      result.replaceUsesWithIf(region.getResult(index), [&](OpOperand &use) {
        return isOutside(use.getOwner());
      });
    }
    for (Operation *op : group.ops)
      region.takeMarksOf(op);
    region.setGradients(gradients);
    region.setKeptGradients(kept);
    for (Operation *op : llvm::reverse(group.ops)) {
      // Readers in the region have widened it there.
      for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
        user->erase();
      op->erase();
    }
  }

  static bool isGradient(OpResult value) {
    return isListed(value, kGradientsAttr) ||
           isListed(value, kKeptGradientsAttr);
  }

  SmallVector<int64_t> sharedBuffers(FusedOp region) {
    Block &block = region.getBody().front();
    SmallVector<int64_t> pairs;
    bool nest = isSingleLoopNest(block);
    for (auto [index, input] : llvm::enumerate(block.getArguments()))
      for (auto [output, type] : llvm::enumerate(region.getResultTypes()))
        if (input.getType() == type && (nest ? isReadInPlace(block, input)
                                             : mayShare(block, input, output)))
          pairs.append(
              {static_cast<int64_t>(index), static_cast<int64_t>(output)});
    return pairs;
  }

  /// A region of one op that yields its results in order says it itself.
  bool mayShare(Block &block, BlockArgument input, unsigned output) {
    if (group.isLoopNest || !input.hasOneUse())
      return false;
    OpOperand &use = *input.use_begin();
    auto form = dyn_cast<LinalgFormOpInterface>(use.getOwner());
    if (auto collective = dyn_cast<dist::CollectiveOpInterface>(use.getOwner()))
      return collective.mayWorkInPlace();
    auto result = dyn_cast<OpResult>(block.getTerminator()->getOperand(output));
    return form && result && result.getOwner() == use.getOwner() &&
           form.mayShareBuffer(use.getOperandNumber(),
                               result.getResultNumber());
  }

  const RegionGroup &group;
  DenseSet<Operation *> members;
  SmallVector<Value> results;
  SmallVector<Value> singleOperands;
};

struct FormRegions : public impl::FormRegionsPassBase<FormRegions> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.isDeclaration())
        continue;
      if (failed(checkOps(program)))
        return signalPassFailure();
      formRegions(program);
    }
  }

private:
  // A kernel is made of an op's linalg form, which other dialects do not have.
  static LogicalResult checkOps(func::FuncOp program) {
    for (Operation &op : program.getBody().front().without_terminator())
      if (!isa_and_nonnull<TrainDialect>(op.getDialect()) &&
          !isa<dist::CollectiveOpInterface>(op))
        return op.emitError("cannot become a kernel: expected an op of the "
                            "train dialect, found '")
               << op.getName() << "'";
    return success();
  }

  void formRegions(func::FuncOp program) {
    Block &block = program.getBody().front();
    moveDataToStates(program);
    RegionGrouping grouping(block);
    for (const RegionGroup &group : grouping.getGroups()) {
      RegionBuilder(group).build();
      ++numRegions;
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    sortTopologically(&block);
  }

  /// Constants that vary are data: states of kind constant.
  void moveDataToStates(func::FuncOp program) {
    Block &block = program.getBody().front();
    for (auto op : llvm::make_early_inc_range(block.getOps<ConstantOp>())) {
      if (isSplatConstant(op))
        continue;
      op.getResult().replaceAllUsesWith(
          stateArgument(program, constantState(op)));
      op.erase();
    }
  }

  StateOp constantState(ConstantOp op) {
    StateOp &state = constants[op.getValue()];
    if (state)
      return state;
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    // Files have the states of all roles.
    std::string name, prefix = "constant.";
    if (auto role = getOperation()->getAttrOfType<IntegerAttr>(kRoleAttr))
      prefix += "role" + std::to_string(role.getInt()) + ".";
    do
      name = prefix + std::to_string(nextConstant++);
    while (getOperation().lookupSymbol(name));
    OperationState fields(op.getLoc(), StateOp::getOperationName());
    fields.addAttribute("sym_name", builder.getStringAttr(name));
    fields.addAttribute("type", TypeAttr::get(op.getType()));
    fields.addAttribute("kind",
                        builder.getStringAttr(stringifyStateKind(kConstant)));
    fields.addAttribute("value", op.getValue());
    return state = cast<StateOp>(builder.create(fields));
  }

  static Value stateArgument(func::FuncOp program, StateOp state) {
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    for (BlockArgument argument : program.getArguments())
      if (program.getArgAttr(argument.getArgNumber(), kStateAttr) == symbol)
        return argument;
    unsigned index = program.getNumArguments();
    auto binding = NamedAttribute(
        StringAttr::get(program.getContext(), kStateAttr), symbol);
    (void)program.insertArgument(
        index, state.getType(),
        DictionaryAttr::get(program.getContext(), binding), state.getLoc());
    return program.getArgument(index);
  }

  DenseMap<Attribute, StateOp> constants;
  unsigned nextConstant = 0;
};

} // namespace
} // namespace zc
