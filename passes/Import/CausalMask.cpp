//===- CausalMask.cpp - what a mask of queries and keys says --------------===//
#include "passes/Import/CausalMask.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Import/Lowering/TensorBuilder.h"
#include "passes/Import/MaskParts.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

std::optional<double> zc::splatNumber(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()))
             ? matchNumber(value)
             : std::nullopt;
}

bool zc::hides(Value value) {
  std::optional<double> number = splatNumber(value);
  return number && *number <= kHidden;
}

zc::Spread::Spread(Value value) : value(value) {
  if (auto op = value.getDefiningOp<BroadcastOp>()) {
    this->value = op.getInput();
    dims = llvm::to_vector(op.getDims());
  } else {
    dims = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  }
}

/// Whether of a square matrix `isSeen` holds up to the diagonal, `isHidden`
/// after it.
template <typename Elements, typename Seen, typename Hidden>
static bool isLowerTriangle(const Elements &elements, int64_t columns,
                            Seen isSeen, Hidden isHidden) {
  int64_t index = 0;
  return llvm::all_of(elements, [&](const auto &element) {
    bool seen = index % columns <= index / columns;
    ++index;
    return seen ? isSeen(element) : isHidden(element);
  });
}

static MaskKind classify(DenseElementsAttr mask) {
  ArrayRef<int64_t> shape = cast<ShapedType>(mask.getType()).getShape();
  int64_t columns = shape[1];
  if (shape[0] != columns)
    return MaskKind::Other;
  if (isa<FloatType>(mask.getElementType())) {
    auto isZero = [](const APFloat &value) { return value.isZero(); };
    auto hides = [](const APFloat &value) {
      return value.convertToDouble() <= kHidden;
    };
    return isLowerTriangle(mask.getValues<APFloat>(), columns, isZero, hides)
               ? MaskKind::Causal
               : MaskKind::Other;
  }
  auto is = [](bool value) { return value; };
  auto isNot = [](bool value) { return !value; };
  auto values = mask.getValues<bool>();
  return isLowerTriangle(values, columns, is, isNot)   ? MaskKind::CausalSeen
         : isLowerTriangle(values, columns, isNot, is) ? MaskKind::CausalHidden
                                                       : MaskKind::Other;
}

MaskKind CausalMasks::classify(Value value) {
  int64_t rank = typeOf(value).getRank();
  ArrayRef<int64_t> shape = typeOf(value).getShape().take_back(2);
  if (auto spread = value.getDefiningOp<BroadcastOp>()) {
    ArrayRef<int64_t> dims = spread.getDims();
    int64_t count = dims.size();
    if (count < 2 || dims[count - 2] != rank - 2 || dims[count - 1] != rank - 1)
      return MaskKind::Other;
    value = spread.getInput();
  }
  if (typeOf(value).getNumElements() != shape[0] * shape[1] ||
      typeOf(value).getShape().take_back(2) != shape)
    return MaskKind::Other;
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getInput();
  DenseElementsAttr data = findConstant(value);
  if (!data)
    return classifyComputed(value);
  if (!isa<FloatType>(data.getElementType()) &&
      !data.getElementType().isInteger(1))
    return MaskKind::Other;
  auto [known, isNew] = masks.try_emplace(data, MaskKind::Other);
  if (isNew) {
    auto matrix = RankedTensorType::get(shape, data.getElementType());
    known->second = ::classify(data.reshape(matrix));
  }
  return known->second;
}

/// Classifies a mask that compares positions, row < column, maybe with numbers
/// chosen by that. Masks are left so where they would be large constants.
MaskKind CausalMasks::classifyComputed(Value value) {
  if (auto select = value.getDefiningOp<SelectOp>()) {
    const MaskKind condition = classifyComputed(select.getCondition());
    auto isZero = [](Value number) { return splatNumber(number) == 0.0; };
    const bool isCausal =
        (condition == MaskKind::CausalHidden && hides(select.getOnTrue()) &&
         isZero(select.getOnFalse())) ||
        (condition == MaskKind::CausalSeen && isZero(select.getOnTrue()) &&
         hides(select.getOnFalse()));
    return isCausal ? MaskKind::Causal : MaskKind::Other;
  }
  auto compare = value.getDefiningOp<CompareOp>();
  if (!compare)
    return MaskKind::Other;
  const int64_t rank = typeOf(value).getRank();
  std::optional<int64_t> left = countedDim(compare.getLhs()),
                         right = countedDim(compare.getRhs());
  if (rank < 2 || !left || !right || *left == *right ||
      std::min(*left, *right) != rank - 2)
    return MaskKind::Other;
  const bool rowFirst = *left < *right;
  const Predicate predicate = compare.getPredicate();
  if (predicate == (rowFirst ? Predicate::Lt : Predicate::Gt))
    return MaskKind::CausalHidden;
  return predicate == (rowFirst ? Predicate::Ge : Predicate::Le)
             ? MaskKind::CausalSeen
             : MaskKind::Other;
}

/// The dim along which the elements are 0, 1, 2, ..., alike along all others.
std::optional<int64_t> CausalMasks::countedDim(Value value) {
  const Spread spread(value);
  if (auto iota = spread.value.getDefiningOp<IotaOp>();
      iota && iota.getStride() == 1)
    return spread.dims.front();
  DenseElementsAttr data = findConstant(spread.value);
  ArrayRef<int64_t> shape = typeOf(spread.value).getShape();
  auto longest = std::max_element(shape.begin(), shape.end());
  if (!data || !isa<IntegerType>(data.getElementType()) || shape.empty() ||
      data.getNumElements() != *longest || *longest < 2)
    return std::nullopt;
  int64_t next = 0;
  for (const APInt &element : data.getValues<APInt>())
    if (element != next++)
      return std::nullopt;
  return spread.dims[size_t(longest - shape.begin())];
}
