//===- MaskParts.cpp - what the factors of a mask are ---------------------===//
#include "passes/Import/MaskParts.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Lowering/TensorBuilder.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

static constexpr int kMaskDepth = 64;

/// The number that a constant is everywhere.
std::optional<double> zc::matchNumber(Value value) {
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return std::nullopt;
  if (isa<FloatType>(constant.getElementType()))
    return constant.getSplatValue<APFloat>().convertToDouble();
  return double(constant.getSplatValue<APInt>().getSExtValue());
}

/// Whether a vector is 0, 1, ...
static bool isCount(Value vector) {
  if (auto iota = vector.getDefiningOp<IotaOp>())
    return iota.getStride() == 1;
  DenseElementsAttr constant;
  if (!matchPattern(vector, m_Constant(&constant)))
    return false;
  if (auto integers = dyn_cast<DenseIntElementsAttr>(constant)) {
    for (auto [place, each] : llvm::enumerate(integers.getValues<APInt>()))
      if (each.getSExtValue() != int64_t(place))
        return false;
    return true;
  }
  if (auto floats = dyn_cast<DenseFPElementsAttr>(constant)) {
    for (auto [place, each] : llvm::enumerate(floats.getValues<APFloat>()))
      if (each.convertToDouble() != double(place))
        return false;
    return true;
  }
  return false;
}

/// 0, 1, ... along the last dim of `value`.
static bool isCounted(Value value) {
  while (auto convert = value.getDefiningOp<ConvertOp>())
    value = convert.getInput();
  int64_t last = typeOf(value).getRank() - 1;
  auto spread = value.getDefiningOp<BroadcastOp>();
  if (!spread)
    return last == 0 && isCount(value);
  Value input = spread.getInput();
  while (auto view = input.getDefiningOp<ReshapeOp>())
    input = view.getInput();
  if (auto convert = input.getDefiningOp<ConvertOp>())
    input = convert.getInput();
  return typeOf(input).getRank() == 1 && spread.getDims().back() == last &&
         typeOf(input).getDimSize(0) == typeOf(value).getDimSize(last) &&
         isCount(input);
}

/// The operand that a part repeats or reshapes, with its dims; or nothing.
std::optional<MaskPart> zc::seeThrough(const MaskPart &part) {
  Operation *op = part.value.getDefiningOp();
  MaskPart input;
  if (auto spread = dyn_cast_or_null<BroadcastOp>(op)) {
    input.value = spread.getInput();
    for (auto [index, dim] : llvm::enumerate(spread.getDims())) {
      bool repeats = typeOf(input.value).getDimSize(index) == 1;
      input.dims.push_back(repeats ? MaskDim::None : part.dims[dim]);
    }
    return input;
  }
  auto view = dyn_cast_or_null<ReshapeOp>(op);
  if (!view)
    return std::nullopt;
  input.value = view.getInput();
  ArrayRef<int64_t> to = typeOf(part.value).getShape();
  size_t next = 0;
  auto skipOnes = [&] {
    while (next < to.size() && to[next] == 1)
      ++next;
  };
  for (int64_t size : typeOf(input.value).getShape()) {
    skipOnes();
    if (size != 1 && (next == to.size() || to[next] != size))
      return std::nullopt;
    input.dims.push_back(size == 1 ? MaskDim::None : part.dims[next++]);
  }
  skipOnes();
  return next == to.size() ? std::optional(input) : std::nullopt;
}

/// Whether a conversion leaves whole numbers as they are.
bool zc::keepsNumbers(ConvertOp convert) {
  Type from = typeOf(convert.getInput()).getElementType();
  Type to = typeOf(convert.getResult()).getElementType();
  return from.isInteger(1) || !to.isInteger(1);
}

/// The factors of a part, each seen through to where it is computed.
void zc::collectFactors(const MaskPart &part,
                        SmallVectorImpl<MaskPart> &factors) {
  if (auto product = part.value.getDefiningOp<MulOp>()) {
    for (Value operand : product->getOperands())
      collectFactors({operand, part.dims}, factors);
    return;
  }
  if (auto both = part.value.getDefiningOp<AndOp>()) {
    for (Value operand : both->getOperands())
      collectFactors({operand, part.dims}, factors);
    return;
  }
  if (auto convert = part.value.getDefiningOp<ConvertOp>();
      convert && keepsNumbers(convert))
    return collectFactors({convert.getInput(), part.dims}, factors);
  if (auto input = seeThrough(part))
    return collectFactors(*input, factors);
  factors.push_back(part);
}

/// Where `value` is computed, whatever shows or repeats it.
Value zc::stripViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, BroadcastOp, ConvertOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// x == 0, 1, ... along the last dim: x, of the other dims.
std::optional<MaskPart> zc::matchOneHot(const MaskPart &part, MaskDim dim) {
  auto equal = part.value.getDefiningOp<CompareOp>();
  if (!equal || equal.getPredicate() != Predicate::Eq || part.dims.empty() ||
      part.dims.back() != dim)
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    if (!isCounted(equal->getOperand(side)))
      continue;
    MaskPart other{equal->getOperand(1 - side), part.dims};
    while (other.has(dim)) {
      std::optional<MaskPart> input = seeThrough(other);
      if (!input)
        return std::nullopt;
      other = *input;
    }
    return other;
  }
  return std::nullopt;
}

/// The tensor that `value` has moved by `step` elements along `dim`, with zeros
/// in front; or null.
Value zc::matchShift(Value value, int64_t dim, int64_t step) {
  auto pad = value.getDefiningOp<PadOp>();
  auto slice = pad ? pad.getInput().getDefiningOp<SliceOp>() : SliceOp();
  if (!slice || typeOf(slice.getInput()) != typeOf(value))
    return Value();
  ArrayRef<int64_t> whole = typeOf(value).getShape();
  ArrayRef<int64_t> part = typeOf(slice.getResult()).getShape();
  for (int64_t each = 0; each < int64_t(whole.size()); ++each) {
    int64_t moved = each == dim ? step : 0;
    if (slice.getOffsets()[each] != 0 || slice.getStrides()[each] != 1 ||
        part[each] != whole[each] - moved || pad.getLow()[each] != moved ||
        pad.getInterior()[each] != 0)
      return Value();
  }
  return slice.getInput();
}

/// x + the sum over 1, 2, 4, ... elements before, as CumSum is lowered: x.
Value zc::matchRunningSum(Value value, int64_t dim, int64_t size) {
  int64_t step = 1;
  while (step * 2 < size)
    step *= 2;
  for (; step >= 1; step /= 2) {
    auto add = value.getDefiningOp<AddOp>();
    if (!add || matchShift(add.getRhs(), dim, step) != add.getLhs())
      return Value();
    value = add.getLhs();
  }
  return value;
}

/// Whether integers are places along a dim of `size` elements, as ArgMax and
/// TopK find them: none is another number.
bool zc::isPlaceAmong(Value value, int64_t size) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<IntegerType>(typeOf(value).getElementType()))
    return false;
  if (isa<ReshapeOp, SliceOp, ConcatOp, ConvertOp, BroadcastOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return isPlaceAmong(operand, size);
    });
  auto place = dyn_cast<ReduceOp>(op);
  return place &&
         (place.getKind() == ReduceKind::Min ||
          place.getKind() == ReduceKind::Max) &&
         place.getDims().size() == 1 &&
         typeOf(place.getInput()).getDimSize(place.getDims().front()) == size;
}

/// Whether elements cannot be below 0.
static bool isNeverNegative(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  auto areNot = [&](auto operands) {
    return llvm::all_of(operands, [&](Value each) {
      return ::isNeverNegative(each, depth - 1);
    });
  };
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return matchNumber(value).value_or(-1) >= 0;
  if (!op || depth == 0)
    return false;
  if (isa<SoftmaxOp, SigmoidOp, ExpOp, ReluOp, CompareOp>(op))
    return true;
  if (isa<MulOp, AddOp, DivOp, ReshapeOp, BroadcastOp, SliceOp, ConcatOp,
          ConvertOp, TransposeOp>(op))
    return areNot(op->getOperands());
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() != ReduceKind::Prod && areNot(op->getOperands());
  if (isa<SelectOp>(op))
    return areNot(op->getOperands().drop_front());
  return false;
}

bool zc::isNeverNegative(Value value) {
  return ::isNeverNegative(value, kMaskDepth);
}
