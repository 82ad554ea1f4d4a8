//===- ApplyPrecision.cpp - --zc-apply-precision --------------------------===//
//
// Mixed precision (Micikevicius et al. 2018) is where conversions stand in the
// forward: differentiated, they are the conversions of the backward. Each op
// says itself which types its operands should have.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/States.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_APPLYPRECISIONPASS
#include "passes/Precision/Passes.h.inc"

namespace {

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

/// The number that a constant is everywhere, or none.
std::optional<double> getSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                        : DenseFPElementsAttr();
  if (!dense || !dense.isSplat())
    return std::nullopt;
  bool inexact;
  APFloat number = dense.getSplatValue<APFloat>();
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

/// The products from which experts are chosen: rounded to 16 bits, logits that
/// are near one another would change places.
DenseSet<Operation *> findGates(func::FuncOp program) {
  SmallVector<Value> left;
  program.walk([&](Operation *op) {
    if (auto product = dyn_cast<GroupedMatmulOp>(op))
      left.push_back(product.getGroups());
    else if (auto slots = dyn_cast<ExpertSlotsOp>(op))
      left.push_back(slots.getGroups());
  });
  DenseSet<Operation *> gates, seen;
  while (!left.empty()) {
    Operation *op = left.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<MatmulOp>(op))
      gates.insert(op);
    else if (!isa<ExpertSlotsOp, GroupedMatmulOp>(op))
      llvm::append_range(left, op->getOperands());
  }
  return gates;
}

/// One program's values, from first to last.
class Narrower {
public:
  Narrower(func::FuncOp program, FloatType type)
      : program(program), type(type), gates(findGates(program)) {}

  /// How many ops compute with 16 bits afterwards.
  unsigned run() {
    Block &block = program.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      visit(&op);
    Operation *end = block.getTerminator();
    for (auto [operand, wanted] :
         llvm::zip_equal(end->getOpOperands(), program.getResultTypes()))
      if (isNarrowed(operand.get()) && operand.get().getType() != wanted)
        operand.set(converted(operand.get(), getElementTypeOrSelf(wanted)));
    return count;
  }

private:
  bool isNarrowed(Value value) { return elementOf(value) == type; }

  void visit(Operation *op) {
    // A conversion that the model asks for takes what there is.
    if (isa<ConvertOp>(op))
      return;
    auto mine = dyn_cast<PrecisionOpInterface>(op);
    switch (getPrecision(op, mine)) {
    case Precision::Narrow:
      return narrow(op, mine);
    case Precision::Wide:
      return widen(op, mine);
    case Precision::Same:
      return follow(op, mine) ? narrow(op, mine) : widen(op, mine);
    }
  }

  /// Rows that go to experts are factors of products there: 16 bits are sent.
  Precision getPrecision(Operation *op, PrecisionOpInterface mine) const {
    if (isa<ExchangeRowsOp>(op))
      return Precision::Narrow;
    if (gates.contains(op) || isSummedSquare(op))
      return Precision::Wide;
    return mine ? mine.getPrecision() : Precision::Same;
  }

  /// A square that is added up alone, as of a norm: in 16 bits that of 1e-4 is
  /// 0, and what is divided by the norm then is huge. The sum's loop makes it,
  /// so that float32 costs no memory.
  static bool isSummedSquare(Operation *op) {
    auto square = dyn_cast<MulOp>(op);
    return square && square.getLhs() == square.getRhs() &&
           llvm::all_of(op->getUsers(), [](Operation *user) {
             auto sum = dyn_cast<ReduceOp>(user);
             return sum && sum.getKind() == ReduceKind::Sum;
           });
  }

  static bool decides(PrecisionOpInterface mine, OpOperand &operand) {
    return isa<FloatType>(elementOf(operand.get())) &&
           !(mine && mine.takesAnyPrecision(operand.getOperandNumber()));
  }

  /// Whether a number has none near it in 16 bits: what guards a division
  /// against 0, such as 1e-12, must not become 0.
  bool vanishes(double number) const {
    APFloat narrow(number);
    bool inexact;
    narrow.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &inexact);
    return number != 0 && narrow.isZero();
  }

  /// Whether all operands that count have 16 bits.
  bool follow(Operation *op, PrecisionOpInterface mine) {
    bool any = false;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!decides(mine, operand))
        continue;
      if (std::optional<double> number = getSplat(operand.get())) {
        if (vanishes(*number))
          return false;
        continue;
      }
      if (!isNarrowed(operand.get()))
        return false;
      any = true;
    }
    return any;
  }

  void narrow(Operation *op, PrecisionOpInterface mine) {
    for (OpOperand &operand : op->getOpOperands())
      if (decides(mine, operand) && elementOf(operand.get()).isF32())
        operand.set(converted(operand.get(), type));
    bool all = llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      return !decides(mine, operand) || isNarrowed(operand.get());
    });
    if (!all) // of another type than float32
      return;
    ++count;
    for (OpResult result : op->getResults())
      if (elementOf(result).isF32() &&
          !(mine && mine.isStatistic(result.getResultNumber())))
        result.setType(withElementType(result.getType(), type));
  }

  void widen(Operation *op, PrecisionOpInterface mine) {
    for (OpOperand &operand : op->getOpOperands())
      if (decides(mine, operand) && isNarrowed(operand.get()))
        operand.set(
            converted(operand.get(), Float32Type::get(op->getContext())));
  }

  /// Every value is converted once, where it is made.
  Value converted(Value value, Type element) {
    if (Value made = conversions.lookup({value, element}))
      return made;
    OpBuilder builder(program.getContext());
    builder.setInsertionPointAfterValue(value);
    Value made;
    if (std::optional<double> number = getSplat(value))
      made = splat(builder, value.getLoc(),
                   withElementType(value.getType(), element), *number);
    else if (element.isF32() && repeats(value))
      made = movedAgain(builder, value, element);
    else
      made = train::convert(builder, value.getLoc(), value, element);
    return conversions[{value, element}] = made;
  }

  /// The op that makes `value` of the elements of its only operand as they are,
  /// or null.
  static Operation *getMove(Value value) {
    Operation *op = value.getDefiningOp();
    auto cost = dyn_cast_or_null<CostOpInterface>(op);
    bool moves = cost && cost.getFlops() == 0 && isPure(op) &&
                 op->getNumOperands() == 1 && op->getNumResults() == 1 &&
                 elementOf(op->getOperand(0)) == elementOf(value);
    return moves ? op : nullptr;
  }

  /// Whether there are fewer numbers than elements: moves lead from something
  /// smaller to `value`.
  static bool repeats(Value value) {
    int64_t size = numElements(value.getType());
    while (Operation *op = getMove(value)) {
      value = op->getOperand(0);
      int64_t before = numElements(value.getType());
      if (before != size)
        return before < size;
    }
    return false;
  }

  /// Converts a repeated value before it is repeated, where it is smallest: in
  /// the backward, the gradients of the copies are then added up before they
  /// are rounded.
  Value movedAgain(OpBuilder &builder, Value value, Type element) {
    Operation *copy = builder.clone(*value.getDefiningOp());
    copy->setOperand(0, converted(copy->getOperand(0), element));
    copy->getResult(0).setType(
        cast<RankedTensorType>(withElementType(value.getType(), element)));
    return copy->getResult(0);
  }

  func::FuncOp program;
  FloatType type;
  DenseSet<Operation *> gates;
  DenseMap<std::pair<Value, Type>, Value> conversions;
  unsigned count = 0;
};

struct ApplyPrecision : public impl::ApplyPrecisionPassBase<ApplyPrecision> {
  using ApplyPrecisionPassBase::ApplyPrecisionPassBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    FloatType element = getNarrowType();
    if (!step || !element) {
      getOperation().emitError("expected @step and a type bf16 or fp16, "
                               "found '")
          << type << "'";
      return signalPassFailure();
    }
    if (element.isF16() && failed(addLossScale(getOperation(), lossScale)))
      return signalPassFailure();
    if (!keepsCopies)
      roundParameters(step, element);
    else if (failed(readCopies(step, element)))
      return signalPassFailure();
    numNarrowed += Narrower(step, element).run();
  }

private:
  FloatType getNarrowType() {
    if (type == "bf16")
      return BFloat16Type::get(&getContext());
    if (type == "fp16")
      return Float16Type::get(&getContext());
    return nullptr;
  }

  /// The step rounds each parameter in front of its first reader.
  static void roundParameters(func::FuncOp step, FloatType element) {
    for (BlockArgument argument : step.getArguments()) {
      StateOp state = findState(argument);
      const bool isRounded =
          llvm::any_of(argument.getUsers(),
                       [](Operation *user) { return roundsParameter(user); });
      // A model of 16 bits has said already to which type.
      if (state && state.getKind() == kParameter &&
          elementOf(argument).isF32() && !isRounded)
        roundWhereRead(state, argument, element);
    }
  }

  /// The step reads copies of the parameters alone.
  LogicalResult readCopies(func::FuncOp step, FloatType element) {
    llvm::BitVector unused(step.getNumArguments());
    for (unsigned i = 0, end = unused.size(); i < end; ++i) {
      BlockArgument argument = step.getArgument(i);
      StateOp state = findState(argument);
      if (!state || state.getKind() != kParameter ||
          !elementOf(argument).isF32())
        continue;
      FailureOr<StateOp> copy = addCopy(state, element);
      if (failed(copy))
        return failure();
      argument.replaceAllUsesWith(getStateArgument(step, *copy));
      unused.set(i);
    }
    unused.resize(step.getNumArguments());
    return step.eraseArguments(unused);
  }
};

} // namespace
} // namespace zc
