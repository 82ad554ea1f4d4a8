// How one op works with divided operands, and which dims belong together.
#include "passes/Sharding/DimClasses.h"
#include "passes/Sharding/OpLayouts.h"
#include "test/unit/passes/Parsed.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace zc {
namespace {

constexpr int kDp = 0, kTp = 1;

class OpPlannerTest : public test::Parsed {
protected:
  dist::MeshAttr mesh() {
    return cast<dist::MeshAttr>(
        parseAttribute("#dist.mesh<dp=2,tp=2>", &context));
  }

  OpLayouts plan(Operation *op, ArrayRef<Layout> operands,
                 ArrayRef<Layout> hints = {}, bool isFree = false) {
    return OpPlanner(
               op, operands, hints, [&](unsigned) { return isFree; }, mesh())
        .plan();
  }

  Operation *matmul() {
    Block *body =
        parse("%a: tensor<8x4xf32>, %b: tensor<4x6xf32>", "tensor<8x6xf32>",
              "%c = train.matmul %a, %b : (tensor<8x4xf32>, "
              "tensor<4x6xf32>) -> tensor<8x6xf32>\n"
              "return %c : tensor<8x6xf32>");
    return body ? &body->front() : nullptr;
  }

  Operation *add() {
    Block *body =
        parse("%a: tensor<8x4xf32>, %b: tensor<8x4xf32>", "tensor<8x4xf32>",
              "%c = train.add %a, %b : (tensor<8x4xf32>, "
              "tensor<8x4xf32>) -> tensor<8x4xf32>\n"
              "return %c : tensor<8x4xf32>");
    return body ? &body->front() : nullptr;
  }

  static Layout layout(Axes first, Axes second, Axes unreduced = {}) {
    Layout made;
    made.dims = {first, second};
    made.unreduced = unreduced;
    return made;
  }
  const Layout whole = layout({}, {});
};

TEST_F(OpPlannerTest, RowsOfAProductFollowThoseOfItsFactor) {
  OpLayouts found = plan(matmul(), {layout({kDp}, {}), whole});
  EXPECT_EQ(found.operands[0], layout({kDp}, {}));
  EXPECT_EQ(found.operands[1], whole);
  EXPECT_EQ(found.results[0], layout({kDp}, {}));
}

TEST_F(OpPlannerTest, ADividedSumIsATermOnEachRank) {
  OpLayouts found = plan(matmul(), {layout({}, {kTp}), layout({kTp}, {})});
  EXPECT_EQ(found.operands[0], layout({}, {kTp}));
  EXPECT_EQ(found.operands[1], layout({kTp}, {}));
  EXPECT_EQ(found.results[0], layout({}, {}, {kTp}));
}

TEST_F(OpPlannerTest, AFactorThatIsWholeIsSlicedWithTheOther) {
  // The second factor's rows follow the first one's columns: a slice is free.
  OpLayouts found = plan(matmul(), {layout({}, {kTp}), whole});
  EXPECT_EQ(found.operands[1], layout({kTp}, {}));
}

TEST_F(OpPlannerTest, TwoAxesDivideTwoDims) {
  OpLayouts found = plan(matmul(), {layout({kDp}, {}), layout({}, {kTp})});
  EXPECT_EQ(found.results[0], layout({kDp}, {kTp}));
}

TEST_F(OpPlannerTest, AnAxisDividesOneDimOnly) {
  // The larger operand has its way; the other is to be gathered.
  OpLayouts found = plan(matmul(), {layout({kDp}, {}), layout({}, {kDp})});
  EXPECT_EQ(found.operands[0], layout({kDp}, {}));
  EXPECT_EQ(found.operands[1], whole);
  EXPECT_EQ(found.results[0], layout({kDp}, {}));
}

TEST_F(OpPlannerTest, TermsAreAddedOnlyToTerms) {
  const Layout term = layout({}, {}, {kDp});
  EXPECT_EQ(plan(add(), {term, term}).results[0], term);
  OpLayouts mixed = plan(add(), {term, whole});
  EXPECT_EQ(mixed.operands[0], whole); // reduced before it is added
  EXPECT_EQ(mixed.results[0], whole);
}

TEST_F(OpPlannerTest, AScaledTermStaysOne) {
  const Layout term = layout({}, {}, {kDp});
  Block *body =
      parse("%a: tensor<8x4xf32>, %b: tensor<8x4xf32>", "tensor<8x4xf32>",
            "%c = train.mul %a, %b : (tensor<8x4xf32>, "
            "tensor<8x4xf32>) -> tensor<8x4xf32>\n"
            "return %c : tensor<8x4xf32>");
  ASSERT_TRUE(body);
  EXPECT_EQ(plan(&body->front(), {term, whole}).results[0], term);
  // The product of two sums is no sum of products.
  EXPECT_EQ(plan(&body->front(), {term, term}).results[0], whole);
}

TEST_F(OpPlannerTest, HintsDivideWhatNothingElseDoes) {
  EXPECT_EQ(plan(add(), {whole, whole}, {layout({}, {kTp})}).results[0],
            layout({}, {kTp}));
  EXPECT_EQ(
      plan(add(), {layout({kTp}, {}), whole}, {layout({}, {kTp})}).results[0],
      layout({kTp}, {}));
}

TEST_F(OpPlannerTest, OddDimsStayWhole) {
  Block *body = parse("%a: tensor<3x4xf32>", "tensor<3x4xf32>",
                      "%c = train.exp %a : (tensor<3x4xf32>) -> "
                      "tensor<3x4xf32>\nreturn %c : tensor<3x4xf32>");
  ASSERT_TRUE(body);
  EXPECT_EQ(plan(&body->front(), {whole}, {layout({kDp}, {})}).results[0],
            whole);
}

class DimClassesTest : public test::Parsed {
protected:
  /// The dims of a class, "a0 b1", of values by their names here.
  static bool isTogether(ArrayRef<DimClass> classes, DimOf a, DimOf b) {
    return llvm::any_of(classes, [&](const DimClass &each) {
      return llvm::is_contained(each.dims, a) &&
             llvm::is_contained(each.dims, b);
    });
  }
};

TEST_F(DimClassesTest, FeaturesBetweenTwoLayersAreOneClass) {
  Block *body = parse(
      "%x: tensor<8x4xf32>, %v: tensor<4x16xf32>, %w: tensor<16x2xf32>",
      "tensor<8x2xf32>",
      "%h = train.matmul %x, %v : (tensor<8x4xf32>, tensor<4x16xf32>) -> "
      "tensor<8x16xf32>\n"
      "%a = train.tanh %h : (tensor<8x16xf32>) -> tensor<8x16xf32>\n"
      "%y = train.matmul %a, %w : (tensor<8x16xf32>, tensor<16x2xf32>) -> "
      "tensor<8x2xf32>\nreturn %y : tensor<8x2xf32>");
  ASSERT_TRUE(body);
  Value x = body->getArgument(0), v = body->getArgument(1),
        w = body->getArgument(2), y = body->getTerminator()->getOperand(0);
  SmallVector<DimClass> classes =
      findDimClasses(cast<func::FuncOp>(body->getParentOp()));
  EXPECT_TRUE(isTogether(classes, {v, 1}, {w, 0})); // the features
  EXPECT_TRUE(isTogether(classes, {x, 0}, {y, 0})); // the samples
  EXPECT_TRUE(isTogether(classes, {x, 1}, {v, 0}));
  EXPECT_TRUE(isTogether(classes, {w, 1}, {y, 1}));
  EXPECT_FALSE(isTogether(classes, {x, 0}, {x, 1}));
  EXPECT_FALSE(isTogether(classes, {v, 1}, {y, 1}));
}

TEST_F(DimClassesTest, AWholeFactorGathersItsDims) {
  Block *body = parse("%x: tensor<8x4xf32>", "tensor<8x4xf32>",
                      "%y = train.tanh %x : (tensor<8x4xf32>) -> "
                      "tensor<8x4xf32>\nreturn %y : tensor<8x4xf32>");
  ASSERT_TRUE(body);
  Value x = body->getArgument(0), y = body->front().getResult(0);
  auto program = cast<func::FuncOp>(body->getParentOp());
  EXPECT_TRUE(isTogether(findDimClasses(program), {x, 1}, {y, 1}));
  WholeFactors whole;
  whole[&body->front()] = {1};
  EXPECT_FALSE(isTogether(findDimClasses(program, whole), {x, 1}, {y, 1}));
}

} // namespace
} // namespace zc
