//===- RuleProof.cpp - whether sharding rules hold ------------------------===//
#include "compiler/Interpreter/RuleProof.h"

#include "compiler/Interpreter/FewElements.h"
#include "compiler/Interpreter/Field.h"
#include "compiler/Interpreter/LeastWindow.h"
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/TrainDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace zc::interpreter {

namespace {

using Shape = SmallVector<int64_t>;
using Slots = std::vector<Slot>;
using Limits = std::pair<int64_t, int64_t>;

Shape shapeOf(Value value) {
  return Shape(cast<RankedTensorType>(value.getType()).getShape());
}

bool isFloat(Value value) {
  return isa<FloatType>(
      cast<RankedTensorType>(value.getType()).getElementType());
}

int64_t sizeOf(ArrayRef<int64_t> shape) {
  return ShapedType::getNumElements(shape);
}

/// The block [begin, begin + size) along a dim, copied out of or into a whole.
void copyBlock(Slots &whole, ArrayRef<int64_t> shape, size_t dim, int64_t begin,
               int64_t size, Slots &block, bool isOut) {
  int64_t outer = sizeOf(shape.take_front(dim)),
          inner = sizeOf(shape.drop_front(dim + 1));
  for (int64_t o = 0; o < outer; ++o) {
    auto inWhole = whole.begin() + (o * shape[dim] + begin) * inner;
    auto inBlock = block.begin() + o * size * inner;
    if (isOut)
      std::copy_n(inWhole, size * inner, inBlock);
    else
      std::copy_n(inBlock, size * inner, inWhole);
  }
}

/// One op under one rule.
class Proof {
public:
  Proof(Operation *op, const ShardingRule &rule, ArrayRef<Limits> limits,
        std::mt19937_64 &random)
      : op(op), rule(rule), limits(limits), random(random) {
    for (Value operand : op->getOperands())
      operandShapes.push_back(shapeOf(operand));
    for (Value result : op->getResults())
      resultShapes.push_back(shapeOf(result));
  }

  RuleVerdict run() {
    if (std::string wrong = rule.check(op); !wrong.empty())
      return {RuleVerdict::Outcome::Wrong, wrong};
    auto compiled =
        OpKernel::compile(op, operandShapes, resultShapes, Precision::Exact);
    if (failed(compiled))
      return notShown("its form cannot be run");
    bool hadNumbers = false;
    for (int round = 0; round < countRounds(*compiled); ++round) {
      isOfFew = round % 2 == 1;
      if (!proveOnce(*compiled))
        return {outcome, why};
      hadNumbers |= hasNumbers();
    }
    if (!hadNumbers)
      return notShown("drawn numbers leave none but zeros");
    return {RuleVerdict::Outcome::Holds, ""};
  }

private:
  /// One round tells formulas apart. Every other round draws few different
  /// numbers, so that ops that compare for equality, as the gradient of a
  /// maximum does, find equal ones. Integers have few in any case, so they get
  /// more rounds.
  int countRounds(const OpKernel &kernel) const {
    constexpr int kOfFormulas = 1, kOfComparing = 2, kOfIntegers = 4;
    return !llvm::all_of(op->getOperands(), isFloat) ? kOfIntegers
           : kernel.comparesFloats()                 ? kOfComparing
                                                     : kOfFormulas;
  }

  bool proveOnce(OpKernel &kernel) {
    inputs.clear();
    for (Value operand : op->getOperands())
      inputs.push_back(draw(operand));
    if (!compute(kernel, inputs, resultShapes, whole))
      return fail(RuleVerdict::Outcome::NotShown,
                  "it reads beyond its operands");
    for (int factor = 0; factor < int(rule.factors.size()); ++factor)
      if (!proveFactor(factor))
        return false;
    return proveLinearity(kernel);
  }

  static RuleVerdict notShown(std::string why) {
    return {RuleVerdict::Outcome::NotShown, std::move(why)};
  }

  bool fail(RuleVerdict::Outcome how, std::string reason) {
    outcome = how;
    why = std::move(reason);
    return false;
  }

  Slots draw(Value operand) {
    Slots elements(sizeOf(shapeOf(operand)));
    const auto [low, high] = limitsOf(operand);
    for (Slot &slot : elements)
      slot.i = isFloat(operand)
                   ? drawNumber()
                   : low + int64_t(random() % uint64_t(high - low));
    return elements;
  }

  int64_t drawNumber() {
    if (!isOfFew)
      return field::ofBits(random());
    while (few.size() < 3)
      few.push_back(field::ofBits(random()));
    return few[random() % few.size()];
  }

  /// An index is within the smallest dim that it may be one of.
  Limits limitsOf(Value operand) {
    for (OpOperand &use : op->getOpOperands())
      if (use.get() == operand && use.getOperandNumber() < limits.size())
        return limits[use.getOperandNumber()];
    if (cast<RankedTensorType>(operand.getType()).getElementType().isInteger(1))
      return {0, 2};
    int64_t least = 4;
    for (const auto &shapes : {operandShapes, resultShapes})
      for (ArrayRef<int64_t> shape : shapes)
        for (int64_t size : shape)
          if (size > 1)
            least = std::min(least, size);
    return {0, least};
  }

  /// False: it left its buffers.
  static bool compute(OpKernel &kernel, std::vector<Slots> &operands,
                      ArrayRef<Shape> shapes, std::vector<Slots> &results) {
    results.clear();
    for (ArrayRef<int64_t> shape : shapes)
      results.emplace_back(sizeOf(shape));
    SmallVector<Slots *> buffers;
    for (std::vector<Slots> *each : {&operands, &results})
      for (Slots &elements : *each)
        buffers.push_back(&elements);
    return kernel.run(buffers);
  }

  /// Equal results that are all 0, infinite or no numbers would say nothing,
  /// but where they are what the op is for: constants.
  bool hasNumbers() const {
    if (llvm::none_of(op->getOperands(), isFloat) ||
        llvm::none_of(op->getResults(), isFloat))
      return true;
    for (auto [result, elements] : llvm::zip_equal(op->getResults(), whole))
      if (isFloat(result) && llvm::any_of(elements, [](Slot slot) {
            return field::isNumber(slot.i) && slot.i != 0;
          }))
        return true;
    return false;
  }

  // --- Parts -----------------------------------------------------------------

  /// Whether operand i must itself be a sum of terms, one per part.
  bool isCountedPerPart(size_t i, int factor) const {
    return rule.factors[factor].kind == FactorKind::Sum &&
           rule.linearity[i] == Linearity::Joint &&
           !llvm::is_contained(rule.operandDims[i], factor);
  }

  /// The shapes of one of so many parts, where `dims` run over the factor.
  static std::vector<Shape> divide(ArrayRef<Shape> shapes,
                                   ArrayRef<SmallVector<int>> dims, int factor,
                                   int64_t parts) {
    std::vector<Shape> divided(shapes.begin(), shapes.end());
    for (auto [shape, factors] : llvm::zip_equal(divided, dims))
      for (auto [size, of] : llvm::zip_equal(shape, factors))
        if (of == factor)
          size /= parts;
    return divided;
  }

  std::vector<Slots> takePart(int factor, int64_t part,
                              ArrayRef<Shape> shapes) {
    std::vector<Slots> operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Slots elements = inputs[i];
      Shape now = operandShapes[i];
      for (size_t dim = 0; dim < now.size(); ++dim) {
        if (rule.operandDims[i][dim] != factor)
          continue;
        const int64_t size = shapes[i][dim];
        Shape smaller = now;
        smaller[dim] = size;
        Slots block(sizeOf(smaller));
        copyBlock(elements, now, dim, part * size, size, block, true);
        elements = std::move(block);
        now = smaller;
      }
      if (part > 0 && isCountedPerPart(i, factor))
        for (Slot &slot : elements)
          slot.i = 0;
      operands.push_back(std::move(elements));
    }
    return operands;
  }

  /// Combines terms of a reduction other than a sum.
  static int64_t combine(train::ReduceKind kind, int64_t a, int64_t b) {
    return kind == train::ReduceKind::Max   ? std::max(a, b)
           : kind == train::ReduceKind::Min ? std::min(a, b)
                                            : field::multiply(a, b);
  }

  /// Adds one part's result to what was put together so far; false: it
  /// contradicts it.
  bool put(size_t result, int factor, int64_t part, ArrayRef<int64_t> shape,
           Slots &block, Slots &together) {
    const bool isOfFloats = isFloat(op->getResult(result));
    if (rule.factors[factor].kind != FactorKind::Parallel) {
      auto reduce = dyn_cast<train::ReduceOp>(op);
      const bool isSum = rule.factors[factor].kind == FactorKind::Sum;
      if (!isSum && !reduce)
        return false;
      // Once, not for each element: the kind is a name in the IR.
      const auto kind = isSum ? train::ReduceKind::Sum : reduce.getKind();
      for (auto [sum, each] : llvm::zip_equal(together, block))
        if (part == 0)
          sum = each;
        else if (!isSum)
          sum.i = combine(kind, sum.i, each.i);
        else
          sum.i = isOfFloats ? field::add(sum.i, each.i) : sum.i + each.i;
      return true;
    }
    ArrayRef<int> dims = rule.resultDims[result];
    const auto *found = llvm::find(dims, factor);
    if (found != dims.end()) {
      const size_t dim = found - dims.begin();
      copyBlock(together, resultShapes[result], dim, part * shape[dim],
                shape[dim], block, false);
      return true;
    }
    // Every part computes all of it.
    if (part == 0)
      together = block;
    return areEqual(together, block);
  }

  static bool areEqual(const Slots &a, const Slots &b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(),
                      [](Slot left, Slot right) { return left.i == right.i; });
  }

  static int64_t leastDivisor(int64_t size) {
    for (int64_t divisor = 2; divisor * divisor <= size; ++divisor)
      if (size % divisor == 0)
        return divisor;
    return size;
  }

  bool proveFactor(int factor) {
    const int64_t parts = leastDivisor(rule.factors[factor].size);
    if (parts < 2)
      return true;
    const auto operands =
        divide(operandShapes, rule.operandDims, factor, parts);
    const auto results = divide(resultShapes, rule.resultDims, factor, parts);
    std::optional<OpKernel> &kernel = ofParts[factor];
    if (!kernel) {
      auto compiled =
          OpKernel::compile(op, operands, results, Precision::Exact);
      if (failed(compiled))
        return fail(RuleVerdict::Outcome::NotShown,
                    "the form of a part cannot be run");
      kernel = std::move(*compiled);
    }
    std::vector<Slots> together = whole, computed;
    for (int64_t part = 0; part < parts; ++part) {
      auto given = takePart(factor, part, operands);
      const bool stays = compute(*kernel, given, results, computed);
      for (size_t i = 0; i < computed.size(); ++i)
        if (!stays ||
            !put(i, factor, part, results[i], computed[i], together[i]))
          return isWrong(factor, parts, i);
    }
    for (size_t i = 0; i < whole.size(); ++i)
      if (!areEqual(together[i], whole[i]))
        return isWrong(factor, parts, i);
    return true;
  }

  bool isWrong(int factor, int64_t parts, size_t result) {
    return fail(RuleVerdict::Outcome::Wrong,
                llvm::formatv("{0} parts along factor {1} do not make result "
                              "{2}",
                              parts, factor, result)
                    .str());
  }

  // --- Linearity -------------------------------------------------------------

  /// Whether f(a + b) = f(a) + f(b), all operands but `operands` being equal.
  bool isAdditive(OpKernel &kernel, ArrayRef<size_t> operands) {
    std::vector<Slots> right = inputs, both = inputs, ofRight, ofBoth;
    for (size_t i : operands) {
      right[i] = draw(op->getOperand(i));
      for (auto [sum, other] : llvm::zip_equal(both[i], right[i]))
        sum.i = field::add(sum.i, other.i);
    }
    if (!compute(kernel, right, resultShapes, ofRight) ||
        !compute(kernel, both, resultShapes, ofBoth))
      return false;
    for (size_t i = 0; i < whole.size(); ++i) {
      const bool isOfFloats = isFloat(op->getResult(i));
      for (auto [a, b, sum] : llvm::zip_equal(whole[i], ofRight[i], ofBoth[i]))
        if ((isOfFloats ? field::add(a.i, b.i) : a.i + b.i) != sum.i)
          return false;
    }
    return true;
  }

  bool proveLinearity(OpKernel &kernel) {
    SmallVector<size_t> joint;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!isFloat(op->getOperand(i)))
        continue;
      if (rule.linearity[i] == Linearity::Separate && !isAdditive(kernel, {i}))
        return fail(RuleVerdict::Outcome::Wrong,
                    llvm::formatv("it is not linear in operand {0}", i).str());
      if (rule.linearity[i] == Linearity::Joint)
        joint.push_back(i);
    }
    if (!joint.empty() && !isAdditive(kernel, joint))
      return fail(RuleVerdict::Outcome::Wrong,
                  "it is not linear in its joint operands");
    return true;
  }

  Operation *op;
  const ShardingRule &rule;
  ArrayRef<Limits> limits;
  std::mt19937_64 &random;
  std::vector<Shape> operandShapes, resultShapes;
  std::vector<Slots> inputs, whole;
  std::map<int, std::optional<OpKernel>> ofParts; // by factor
  bool isOfFew = false; // whether floats are drawn from `few`
  SmallVector<int64_t> few;
  RuleVerdict::Outcome outcome = RuleVerdict::Outcome::Wrong;
  std::string why;
};

} // namespace

RuleVerdict RuleProver::prove(Operation *op, const ShardingRule &rule,
                              ArrayRef<Limits> limits) {
  return Proof(op, rule, limits, random).run();
}

double countOperations(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  double count = cost ? cost.getFlops() : 0;
  constexpr double kInOnePiece = 8; // times as fast
  if (isa<train::ConvOp, train::ConvInputGradOp, train::ConvFilterGradOp>(op))
    count /= kInOnePiece;
  for (Value result : op->getResults())
    count += numElements(result.getType());
  return count;
}

/// Whether the element of a result is made of those at its own place.
static bool isByElement(Operation *op, const ShardingRule &rule) {
  const auto byPlace = [&](ArrayRef<int> dims) {
    return dims == ArrayRef<int>(rule.resultDims.front());
  };
  return isa<ElementwiseOpInterface>(op) &&
         llvm::all_of(rule.operandDims, byPlace) &&
         llvm::all_of(
             llvm::enumerate(rule.resultDims.front()),
             [](auto each) { return each.value() == int(each.index()); }) &&
         llvm::all_of(rule.factors, [](const Factor &factor) {
           return factor.kind == FactorKind::Parallel;
         });
}

static bool isSplat(Operation *op) {
  auto constant = dyn_cast<train::ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// The key of ops that are proven together: those that do the same to each
/// element, by their linearity and whether there is a dim to divide.
static std::vector<int64_t> classOfElementwise(const ShardingRule &rule) {
  std::vector<int64_t> key = {llvm::any_of(
      rule.factors, [](const Factor &factor) { return factor.size > 1; })};
  for (Linearity each : rule.linearity)
    key.push_back(int64_t(each));
  return key;
}

/// Others by their rules, whatever the sizes of factors are, and by the sizes
/// that no factor runs over.
static std::vector<int64_t> classOfRule(Operation *op,
                                        const ShardingRule &rule) {
  std::vector<int64_t> key;
  for (const Factor &factor : rule.factors)
    llvm::append_values(key, int64_t(factor.kind), int64_t(factor.size > 1));
  for (Linearity each : rule.linearity)
    key.push_back(int64_t(each));
  auto add = [&](Type type, ArrayRef<int> ofDims) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    for (auto [size, factor] : llvm::zip_equal(shape, ofDims)) {
      const bool isWhole = factor == ShardingRule::kWhole;
      const int64_t inner =
          isWhole ? size
                  : size / std::max<int64_t>(rule.factors[factor].size, 1);
      llvm::append_values(key, int64_t(factor), inner);
    }
    key.push_back(INT64_MIN);
  };
  for (auto [type, dims] :
       llvm::zip_equal(op->getOperandTypes(), rule.operandDims))
    add(type, dims);
  for (auto [type, dims] :
       llvm::zip_equal(op->getResultTypes(), rule.resultDims))
    add(type, dims);
  return key;
}

/// Parts that lie elsewhere, or are larger, are cut out alike.
static std::vector<int64_t> classOfSlice(train::SliceOp op,
                                         const ShardingRule &rule) {
  std::vector<int64_t> key;
  for (size_t dim = 0; dim < op.getOffsets().size(); ++dim)
    llvm::append_values(
        key, op.getStrides()[dim], int64_t(op.getOffsets()[dim] > 0),
        int64_t(rule.operandDims[0][dim]), int64_t(rule.resultDims[0][dim]),
        int64_t(op.getType().getDimSize(dim) > 1));
  for (const Factor &factor : rule.factors)
    llvm::append_values(key, int64_t(factor.kind), int64_t(factor.size > 1));
  key.push_back(int64_t(rule.linearity[0]));
  return key;
}

/// Ops of one name, attributes and element types differ by sizes alone.
static std::vector<int64_t> classOf(Operation *op, const ShardingRule &rule) {
  auto slice = dyn_cast<train::SliceOp>(op);
  const bool isOfOneNumber = isSplat(op);
  std::vector<int64_t> key = slice ? classOfSlice(slice, rule)
                             : isOfOneNumber || isByElement(op, rule)
                                 ? classOfElementwise(rule)
                                 : classOfRule(op, rule);
  auto add = [&](const void *pointer) {
    key.push_back(int64_t(reinterpret_cast<uintptr_t>(pointer)));
  };
  add(op->getName().getAsOpaquePointer());
  if (!slice && !isOfOneNumber)
    add(op->getAttrDictionary().getAsOpaquePointer());
  if (op->getNumRegions() > 0)
    add(op);
  for (Type type : op->getOperandTypes())
    add(cast<RankedTensorType>(type).getElementType().getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    add(cast<RankedTensorType>(type).getElementType().getAsOpaquePointer());
  return key;
}

const RuleVerdict *RuleProver::prove(Operation *op, double mostOperations) {
  auto [known, isUnknown] = ofKinds.try_emplace(kindOf(op), nullptr);
  if (!isUnknown && known->second)
    return known->second;
  OwningOpRef<ModuleOp> small = makeLeastWindow(op);
  if (small)
    op = &small->getBody()->front();
  const ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  // The class of an op that its rule does not fit cannot be told.
  const std::vector<int64_t> key = rule.check(op).empty()
                                       ? classOf(op, rule)
                                       : std::vector{int64_t(ofKinds.size())};
  auto entry = verdicts.find(key);
  if (entry == verdicts.end()) {
    std::optional<RuleVerdict> verdict = proveOnFew(op, rule, mostOperations);
    if (!verdict)
      return nullptr;
    entry = verdicts.emplace(key, std::move(*verdict)).first;
  }
  return known->second = &entry->second;
}

/// Operations of an op whose rule is wrong of few elements, of which twenty
/// runs take a second.
static constexpr double kMostInDoubt = 2e6;

std::optional<RuleVerdict> RuleProver::proveOnFew(Operation *op,
                                                  const ShardingRule &rule,
                                                  double mostOperations) {
  constexpr double kFew = 64; // operations, of which it is not worth it
  OwningOpRef<ModuleOp> few;
  if (countOperations(op) > kFew && rule.check(op).empty())
    few = makeFewElements(op, rule);
  Operation *small = few ? &few->getBody()->front() : nullptr;
  std::optional<RuleVerdict> verdict;
  if (small && countOperations(small) <= mostOperations)
    verdict = prove(small, cast<ShardableOpInterface>(small).getShardingRule());
  // Few elements may be too few: a rule that is wrong of them is tried on all.
  using Outcome = RuleVerdict::Outcome;
  if (verdict && verdict->outcome == Outcome::Holds)
    return verdict;
  const bool isWrong = verdict && verdict->outcome == Outcome::Wrong;
  const double most =
      isWrong ? std::max(mostOperations, kMostInDoubt) : mostOperations;
  if (countOperations(op) <= most)
    return prove(op, rule);
  if (isWrong)
    verdict->outcome = Outcome::NotShown;
  return verdict;
}

int64_t RuleProver::count(RuleVerdict::Outcome outcome) const {
  return llvm::count_if(verdicts, [&](const auto &entry) {
    return entry.second.outcome == outcome;
  });
}

} // namespace zc::interpreter
