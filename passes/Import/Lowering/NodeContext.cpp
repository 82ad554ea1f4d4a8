//===- NodeContext.cpp - what a lowering sees of its node -----------------===//
#include "passes/Import/Lowering/NodeContext.h"

#include "dialects/Onnx/Location.h"
#include "llvm/ADT/APFloat.h"
#include <charconv>

using namespace mlir;
using namespace zc;

void InputRanges::restrict(Value value, int64_t min, int64_t max,
                           std::optional<int64_t> ignored) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<train::ConvertOp, train::ReshapeOp, train::BroadcastOp,
             train::TransposeOp>(op))
      return;
    value = op->getOperand(0);
  }
  if (isFloat(value))
    return;
  auto [entry, isNew] = ranges.try_emplace(value, Range{min, max, ignored});
  if (isNew)
    return;
  Range &range = entry->second;
  range.min = std::max(range.min, min);
  range.max = std::min(range.max, max);
  if (range.ignored != ignored)
    range.ignored.reset();
}

Attribute InputRanges::get(BlockArgument input) const {
  auto entry = ranges.find(input);
  if (entry == ranges.end())
    return nullptr;
  const Range &range = entry->second;
  SmallVector<int64_t> values{range.min, range.max};
  if (range.ignored)
    values.push_back(*range.ignored);
  return DenseI64ArrayAttr::get(input.getContext(), values);
}

InFlightDiagnostic zc::emitNodeError(onnx::NodeOp node) {
  std::string where = onnx::describe(node.getLoc());
  if (where.empty())
    where = "node (" + node.getOpType().str() + ")";
  return mlir::emitError(node.getLoc()) << where << ": ";
}

NodeContext::NodeContext(onnx::NodeOp node, OpBuilder &builder,
                         const LoweringOptions &options, InputRanges &ranges,
                         Lookup lookup)
    : node(node), build(builder, node.getLoc()), options(options),
      ranges(ranges), lookup(lookup), results(node.getNumResults()) {}

// --- Operands --------------------------------------------------------------

Value NodeContext::operand(unsigned index) { return operandOf(node, index); }

Value NodeContext::operandOf(onnx::NodeOp other, unsigned index) {
  Value input = other.getOptionalInput(index);
  return input ? lookup(input) : Value();
}

SmallVector<Value> NodeContext::operands() {
  SmallVector<Value> values;
  for (unsigned index = 0; index < getNumOperands(); ++index)
    if (Value value = operand(index))
      values.push_back(value);
  return values;
}

onnx::InitializerOp NodeContext::initializer(unsigned index) {
  Value input = node.getOptionalInput(index);
  return input ? input.getDefiningOp<onnx::InitializerOp>() : nullptr;
}

FailureOr<DenseElementsAttr> NodeContext::constant(unsigned index,
                                                   StringRef name) {
  onnx::InitializerOp source = initializer(index);
  if (source && source.getValue())
    if (auto value = dyn_cast<DenseElementsAttr>(*source.getValue()))
      return value;
  emitError() << "expected input " << index << " ('" << name
              << "') to be a constant, found "
              << (source ? "an initializer stored outside the model"
                         : "a value computed at run time");
  return failure();
}

FailureOr<SmallVector<int64_t>> NodeContext::integers(unsigned index,
                                                      StringRef name) {
  FailureOr<DenseElementsAttr> value = constant(index, name);
  if (failed(value))
    return failure();
  if (!isa<IntegerType>(value->getElementType())) {
    emitError() << "expected input " << index << " ('" << name
                << "') to hold integers, found " << value->getType();
    return failure();
  }
  SmallVector<int64_t> values;
  for (APInt element : value->getValues<APInt>())
    values.push_back(element.getSExtValue());
  return values;
}

FailureOr<double> NodeContext::number(unsigned index, StringRef name) {
  FailureOr<DenseElementsAttr> value = constant(index, name);
  if (failed(value))
    return failure();
  if (value->getNumElements() != 1) {
    emitError() << "expected input " << index << " ('" << name
                << "') to hold one element, found " << value->getType();
    return failure();
  }
  if (isa<FloatType>(value->getElementType()))
    return (*value->getValues<APFloat>().begin()).convertToDouble();
  APInt integer = *value->getValues<APInt>().begin();
  if (value->getElementType().isInteger(1))
    return static_cast<double>(integer.getZExtValue());
  return static_cast<double>(integer.getSExtValue());
}

FailureOr<std::optional<SmallVector<int64_t>>>
NodeContext::integersOrAttribute(unsigned index, StringRef name) {
  using Optional = std::optional<SmallVector<int64_t>>;
  if (auto attribute = node.getInts(name))
    return Optional(SmallVector<int64_t>(*attribute));
  if (!has(index))
    return Optional();
  FailureOr<SmallVector<int64_t>> values = integers(index, name);
  if (failed(values))
    return failure();
  return Optional(*values);
}

// --- Attributes ------------------------------------------------------------

double NodeContext::getFloat(StringRef name, double absent) {
  auto value = node.getNodeAttributes().getAs<FloatAttr>(name);
  if (!value)
    return absent;
  double stored = value.getValueAsDouble();
  char digits[32];
  auto end =
      std::to_chars(digits, std::end(digits), static_cast<float>(stored));
  double written = stored;
  bool failed = StringRef(digits, end.ptr - digits).getAsDouble(written);
  return failed ? stored : written;
}

FailureOr<int64_t> NodeContext::getAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    emitError() << "axis " << axis << " is no dim of a tensor of " << rank
                << " dims";
    return failure();
  }
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> NodeContext::getAxes(ArrayRef<int64_t> axes,
                                                     int64_t rank) {
  SmallVector<int64_t> dims;
  for (int64_t axis : axes) {
    FailureOr<int64_t> dim = getAxis(axis, rank);
    if (failed(dim))
      return failure();
    if (llvm::is_contained(dims, *dim)) {
      emitError() << "names axis " << axis << " twice";
      return failure();
    }
    dims.push_back(*dim);
  }
  return dims;
}

// --- Checks and results ----------------------------------------------------

LogicalResult NodeContext::requireFloat(unsigned index) {
  Value value = operand(index);
  if (value && isFloat(value))
    return success();
  return emitError() << "expected input " << index
                     << " to be a floating-point tensor, found "
                     << (value ? value.getType()
                               : Type(build.builder.getNoneType()));
}

LogicalResult NodeContext::requireUnused(unsigned result, StringRef name) {
  if (!isUsed(result))
    return success();
  return emitError() << "output " << result << " ('" << name
                     << "') is used, which zc cannot compute";
}

RankedTensorType NodeContext::resultType(unsigned index) {
  return cast<RankedTensorType>(node.getResult(index).getType());
}

ArrayRef<int64_t> NodeContext::resultShape(unsigned index) {
  return resultType(index).getShape();
}

LogicalResult NodeContext::set(unsigned index, Value value) {
  if (index >= results.size() || isa<NoneType>(node.getResult(index).getType()))
    return success();
  if (value.getType() != resultType(index))
    return emitError() << "its operands and attributes make output " << index
                       << " a " << value.getType() << ", but the model says "
                       << resultType(index);
  results[index] = value;
  return success();
}

LogicalResult zc::broadcastTogether(NodeContext &context, Value &a, Value &b) {
  auto shape = broadcastShapes(shapeOf(a), shapeOf(b));
  if (!shape)
    return context.emitError() << "cannot broadcast " << a.getType() << " and "
                               << b.getType() << " to one shape";
  a = context.build.broadcast(a, *shape);
  b = context.build.broadcast(b, *shape);
  return success();
}
