//===- ShardingTest.cpp - every sharding rule against the op itself -------===//
//
// An op's rule says what its linalg form computes on parts of its operands. The
// same property lets one kernel be split over threads and one tensor over
// ranks.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/TrainDialect.h"
#include "test/unit/dialects/Train/Blocks.h"
#include "test/unit/dialects/Train/OpCases.h"

#include "gtest/gtest.h"

using namespace mlir;
using zc::interpreter::Interpreter;
using zc::interpreter::Tensor;

namespace zc::test {
namespace {

using Tensors = std::vector<Tensor>;
using Shapes = SmallVector<SmallVector<int64_t>>;

class ShardingTest : public testing::TestWithParam<size_t> {
protected:
  void SetUp() override {
    ASSERT_TRUE(program.module);
    op = program.op();
    rule = cast<ShardableOpInterface>(op).getShardingRule();
    ASSERT_EQ(rule.check(op), "");
    inputs = program.inputs(/*seed=*/GetParam() + 1);
    for (Type type : op->getResultTypes())
      shapes.emplace_back(cast<RankedTensorType>(type).getShape());
  }

  Tensors evaluate(const Tensors &operands, const Shapes &resultShapes) {
    auto results = interpreter.runOnBlock(op, operands, resultShapes);
    EXPECT_TRUE(succeeded(results));
    return succeeded(results) ? *results : Tensors();
  }

  /// The results of the part [begin, end) of a factor.
  Tensors evaluatePart(int factor, int64_t begin, int64_t end) {
    Tensors parts = inputs;
    int64_t size = rule.factors[factor].size;
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t dim = 0; dim < rule.operandDims[i].size(); ++dim)
        if (rule.operandDims[i][dim] == factor) {
          // A factor may be the slowest part of a dim.
          int64_t inner = parts[i].shape[dim] / size;
          parts[i] = slice(parts[i], dim, begin * inner, end * inner);
        } else if (begin > 0 && isCountedPerPart(i, factor)) {
          std::fill(parts[i].floats.begin(), parts[i].floats.end(), 0);
        }
    Shapes partShapes = shapes;
    for (size_t i = 0; i < shapes.size(); ++i)
      for (size_t dim = 0; dim < shapes[i].size(); ++dim)
        if (rule.resultDims[i][dim] == factor)
          partShapes[i][dim] = shapes[i][dim] / size * (end - begin);
    return evaluate(parts, partShapes);
  }

  /// Whether operand i must itself be a sum of terms, one per part.
  bool isCountedPerPart(size_t i, int factor) {
    return rule.factors[factor].kind == FactorKind::Sum &&
           rule.linearity[i] == Linearity::Joint &&
           !llvm::is_contained(rule.operandDims[i], factor);
  }

  Tensor combine(const Tensor &a, const Tensor &b, int factor, size_t result);
  void checkAddition(Linearity linearity, const std::vector<size_t> &operands);

  const OpCase &opCase = opCases()[GetParam()];
  CaseProgram program{opCase};
  Interpreter interpreter;
  Operation *op = nullptr;
  ShardingRule rule;
  Tensors inputs;
  Shapes shapes;
};

/// Combines two parts' results as the rule says.
Tensor ShardingTest::combine(const Tensor &a, const Tensor &b, int factor,
                             size_t result) {
  switch (rule.factors[factor].kind) {
  case FactorKind::Sum:
    return add(a, b);
  case FactorKind::OtherReduction: {
    auto kind = cast<train::ReduceOp>(op).getKind();
    return zipWith(a, b, [kind](auto x, auto y) {
      return kind == train::ReduceKind::Max   ? std::max(x, y)
             : kind == train::ReduceKind::Min ? std::min(x, y)
                                              : x * y;
    });
  }
  case FactorKind::Parallel:
    break;
  }
  for (size_t dim = 0; dim < rule.resultDims[result].size(); ++dim)
    if (rule.resultDims[result][dim] == factor)
      return concatenate(a, b, dim);
  return a; // every part computes all of it
}

// Tests that the parts of every factor, put together as its kind says, are the
// whole; also where the parts differ in size.
TEST_P(ShardingTest, PartsMakeTheWhole) {
  Tensors whole = evaluate(inputs, shapes);
  for (int factor = 0; factor < static_cast<int>(rule.factors.size());
       ++factor) {
    int64_t size = rule.factors[factor].size;
    for (int64_t middle : {size / 2, size - 1}) {
      if (middle < 1)
        continue;
      SCOPED_TRACE(rule.toString() + " factor " + std::to_string(factor) +
                   " at " + std::to_string(middle));
      Tensors low = evaluatePart(factor, 0, middle);
      Tensors high = evaluatePart(factor, middle, size);
      for (size_t i = 0; i < whole.size(); ++i)
        expectClose(combine(low[i], high[i], factor, i), whole[i]);
    }
  }
}

/// Checks f(a + b) = f(a) + f(b), all operands but `operands` being equal.
void ShardingTest::checkAddition(Linearity linearity,
                                 const std::vector<size_t> &operands) {
  std::mt19937 random(11);
  Tensors left = inputs, right = inputs, both = inputs;
  for (size_t i : operands) {
    right[i] = randomTensor(op->getOperand(i).getType(), Range(), random);
    both[i] = add(left[i], right[i]);
  }
  Tensors sumOfResults = evaluate(left, shapes);
  Tensors other = evaluate(right, shapes);
  Tensors resultOfSum = evaluate(both, shapes);
  for (size_t i = 0; i < resultOfSum.size(); ++i)
    expectClose(add(sumOfResults[i], other[i]), resultOfSum[i]);
}

// Tests that the op is linear in the operands in which its rule says so: in
// each alone, or in all of them together.
TEST_P(ShardingTest, IsLinearWhereItSaysSo) {
  std::vector<size_t> joint;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].isFloat()) {
      continue;
    }
    SCOPED_TRACE(rule.toString() + " operand " + std::to_string(i));
    if (rule.linearity[i] == Linearity::Separate)
      checkAddition(Linearity::Separate, {i});
    if (rule.linearity[i] == Linearity::Joint)
      joint.push_back(i);
  }
  if (!joint.empty())
    checkAddition(Linearity::Joint, joint);
}

// Tests that a result that may be written over an operand is the same when it
// is.
TEST_P(ShardingTest, SharedBuffersChangeNothing) {
  auto form = cast<LinalgFormOpInterface>(op);
  Tensors separate = evaluate(inputs, shapes);
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
    for (unsigned result = 0; result < op->getNumResults(); ++result) {
      if (!form.mayShareBuffer(operand, result) ||
          op->getOperand(operand).getType() != op->getResult(result).getType())
        continue;
      auto shared = interpreter.runOnBlock(op, inputs, shapes,
                                           std::pair(operand, result));
      ASSERT_TRUE(succeeded(shared));
      for (size_t i = 0; i < separate.size(); ++i)
        expectClose((*shared)[i], separate[i]);
    }
}

// Tests that no two operands may share one result's buffer: a kernel may
// compute both of them there.
TEST_P(ShardingTest, OneOperandSharesAResult) {
  auto form = cast<LinalgFormOpInterface>(op);
  for (unsigned result = 0; result < op->getNumResults(); ++result) {
    unsigned sharing = 0;
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
      sharing += form.mayShareBuffer(operand, result);
    EXPECT_LE(sharing, 1u) << "result " << result;
  }
}

// Tests that costs are numbers that mean something.
TEST_P(ShardingTest, HasACost) {
  auto cost = cast<CostOpInterface>(op);
  EXPECT_GE(cost.getFlops(), 0);
  EXPECT_GT(cost.getBytes(), 0);
}

INSTANTIATE_TEST_SUITE_P(AllOps, ShardingTest,
                         testing::Range<size_t>(0, opCases().size()),
                         [](const auto &info) { return caseName(info.param); });

} // namespace
} // namespace zc::test
