// A rule that is wrong of few elements is tried on all of an op's, but not for
// minutes.
#include "compiler/Interpreter/RuleProof.h"
#include "dialects/Interfaces/OpInterfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "gtest/gtest.h"

using namespace mlir;
using Outcome = zc::interpreter::RuleVerdict::Outcome;

namespace zc::test {
namespace {

/// The absolute value is not linear.
struct LinearRule
    : ShardableOpInterface::ExternalModel<LinearRule, math::AbsFOp> {
  ShardingRule getShardingRule(Operation *op) const {
    return ShardingRule::elementwise(op, Linearity::Separate);
  }
  ShardingRule getFinerRule(Operation *op) const { return getShardingRule(op); }
};

struct Form : LinalgFormOpInterface::ExternalModel<Form, math::AbsFOp> {
  void buildLinalg(Operation *, OpBuilder &builder, Location loc,
                   ValueRange inputs, ValueRange outputs) const {
    linalg::AbsOp::create(builder, loc, inputs, outputs);
  }
};

class RuleBoundTest : public testing::Test {
protected:
  RuleBoundTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, math::MathDialect,
                        memref::MemRefDialect>();
    math::AbsFOp::attachInterface<LinearRule, Form>(context);
  }

  const interpreter::RuleVerdict *prove(int64_t elements) {
    const Location loc = UnknownLoc::get(&context);
    module = ModuleOp::create(loc);
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    auto type = RankedTensorType::get({elements}, builder.getF32Type());
    Value input = module->getBody()->addArgument(type, loc);
    constexpr double kMost = 1e4;
    return prover.prove(math::AbsFOp::create(builder, loc, input), kMost);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  interpreter::RuleProver prover{/*seed=*/1};
};

TEST_F(RuleBoundTest, AWrongRuleIsTriedOnAllElements) {
  const interpreter::RuleVerdict *verdict = prove(100'000);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::Wrong);
}

TEST_F(RuleBoundTest, ButNotOnMillions) {
  const interpreter::RuleVerdict *verdict = prove(4'000'000);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::NotShown);
  EXPECT_EQ(verdict->why, "it is not linear in operand 0");
}

} // namespace
} // namespace zc::test
