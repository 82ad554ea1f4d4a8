//===- FinerFormsTest.cpp - to make ops finer comes to an end -------------===//
//
// Propagation replaces an op by finer ones, and these by finer ones again,
// until none of them is divided along a dim that it wants whole.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/TrainDialect.h"
#include "test/unit/dialects/Train/OpCases.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace zc::test {
namespace {

/// The elements along the dims that an op wants whole, of one operand.
int64_t countWhole(Operation *op) {
  ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  int64_t most = 0;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operandDims)) {
    int64_t count = 1;
    for (auto [dim, factor] : llvm::enumerate(dims))
      if (factor == ShardingRule::kWhole)
        count *= cast<RankedTensorType>(operand.getType()).getDimSize(dim);
    most = std::max(most, count);
  }
  return most;
}

using Form = SmallVector<Operation *>;

/// The ops that take the place of `op` where a factor is in so many parts; none
/// where it is the finest form.
Form makeFinerForm(Operation *op, ArrayRef<int64_t> parts) {
  Operation *before = op->getPrevNode();
  OpBuilder builder(op);
  Form form;
  if (cast<ShardableOpInterface>(op).decompose(builder, parts).empty())
    return form;
  for (Operation *made = op->getPrevNode(); made != before;
       made = made->getPrevNode())
    form.push_back(made);
  return form;
}

/// A form for each way to divide one factor of the finer rule evenly.
SmallVector<Form> listFinerForms(Operation *op) {
  ShardingRule rule = cast<ShardableOpInterface>(op).getFinerRule();
  SmallVector<Form> forms;
  for (auto [factor, loop] : llvm::enumerate(rule.factors))
    for (int64_t count = 2; count <= loop.size; ++count) {
      if (loop.size % count != 0)
        continue;
      SmallVector<int64_t> parts(rule.factors.size(), 1);
      parts[factor] = count;
      if (Form form = makeFinerForm(op, parts); !form.empty())
        forms.push_back(std::move(form));
    }
  return forms;
}

/// Checks all forms of an op, and all of the ops in them; returns how often one
/// form follows another.
int checkFinerForms(Operation *op) {
  int deepest = 0;
  for (const Form &form : listFinerForms(op)) {
    deepest = std::max(deepest, 1);
    for (Operation *made : form) {
      const int depth = checkFinerForms(made);
      if (depth == 0)
        continue; // the finest form
      EXPECT_LT(countWhole(made), countWhole(op))
          << made->getName().getStringRef().str() << " of "
          << op->getName().getStringRef().str();
      if (::testing::Test::HasFailure())
        return depth;
      deepest = std::max(deepest, depth + 1);
    }
  }
  return deepest;
}

class FinerFormsTest : public testing::TestWithParam<size_t> {};

TEST_P(FinerFormsTest, WantLess) {
  CaseProgram program(opCases()[GetParam()]);
  ASSERT_TRUE(program.module);
  checkFinerForms(program.op());
}

INSTANTIATE_TEST_SUITE_P(AllOps, FinerFormsTest,
                         testing::Range<size_t>(0, opCases().size()),
                         [](const auto &info) { return caseName(info.param); });

// Tests ops that become finer in three steps: of 16 rows, 8, then 4, then 2.
TEST(FinerForms, SixteenRowsAreHalvedThreeTimes) {
  const OpCase cases[] = {
      {"train.amax %0 dims [1] : (tensor<3x16xf32>) -> tensor<3xf32>"},
      {"train.gather %0, %1 {dim = 0 : i64} : (tensor<16x3xf32>, "
       "tensor<5xi64>) -> tensor<5x3xf32>"},
      {"train.scatter_add %0, %1, %2 {dim = 0 : i64} : (tensor<16x3xf32>, "
       "tensor<5xi64>, tensor<5x3xf32>) -> tensor<16x3xf32>"},
      {"train.softmax_cross_entropy %0, %1 {ignore_index = -1 : i64} : "
       "(tensor<6x16xf32>, tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>)"},
      {"train.softmax_cross_entropy_grad %0, %1, %2, %3 {ignore_index = -1 : "
       "i64} : (tensor<6x16xf32>, tensor<6xi64>, tensor<6xf32>, "
       "tensor<6xf32>) -> tensor<6x16xf32>"}};
  for (const OpCase &each : cases) {
    SCOPED_TRACE(each.text);
    CaseProgram program(each);
    ASSERT_TRUE(program.module);
    EXPECT_EQ(checkFinerForms(program.op()), 3);
  }
}

} // namespace
} // namespace zc::test
