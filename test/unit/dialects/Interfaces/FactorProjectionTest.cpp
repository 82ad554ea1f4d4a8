// How rules tie the dims of a whole program, by rules that are written here:
// there is no IR.
#include "dialects/Interfaces/FactorProjection.h"

#include "gtest/gtest.h"

#include <random>

namespace zc {
namespace {

using Dims = FactorProjection::Dims;
using llvm::SmallVector;

constexpr int kWhole = ShardingRule::kWhole;

ShardingRule makeRule(std::initializer_list<Factor> factors,
                      SmallVector<SmallVector<int>> operands,
                      SmallVector<SmallVector<int>> results) {
  ShardingRule rule;
  rule.factors.assign(factors);
  rule.operandDims = std::move(operands);
  rule.resultDims = std::move(results);
  rule.linearity.assign(rule.operandDims.size(), Linearity::None);
  return rule;
}

ShardingRule matmul(int64_t m, int64_t k, int64_t n) {
  return makeRule({{m}, {k, FactorKind::Sum}, {n}}, {{0, 1}, {1, 2}}, {{0, 2}});
}

/// One operand and one result of two dims each.
ShardingRule elementwise(int64_t m, int64_t n) {
  return makeRule({{m}, {n}}, {{0, 1}}, {{0, 1}});
}

class FactorProjectionTest : public ::testing::Test {
protected:
  Dims tensor(std::initializer_list<int64_t> shape) {
    Dims dims;
    for (int64_t size : shape)
      dims.push_back(projection.addDim(size));
    return dims;
  }

  bool isTied(int a, int b) const {
    return projection.factorOfDim(a) == projection.factorOfDim(b);
  }

  const ProgramFactor &factorOf(int dim) const {
    return projection.getFactor(projection.factorOfDim(dim));
  }

  FactorProjection projection;
};

TEST_F(FactorProjectionTest, DimsAreListedOperandsFirst) {
  SmallVector<RuleDim> dims =
      listDims(makeRule({{4}, {6}}, {{1}, {0, kWhole}}, {{0}}));
  ASSERT_EQ(dims.size(), 4u);
  EXPECT_FALSE(dims[0].isResult);
  EXPECT_EQ(dims[0].loop, 1);
  EXPECT_EQ(dims[2].tensor, 1u);
  EXPECT_EQ(dims[2].dim, 1u);
  EXPECT_TRUE(dims[2].isWhole());
  EXPECT_TRUE(dims[3].isResult);
  EXPECT_EQ(dims[3].tensor, 0u);
}

TEST_F(FactorProjectionTest, FeaturesBetweenTwoLayersAreOneFactor) {
  Dims x = tensor({8, 4}), v = tensor({4, 16}), h = tensor({8, 16}),
       a = tensor({8, 16}), w = tensor({16, 2}), y = tensor({8, 2});
  projection.addOp(matmul(8, 4, 16), {x, v}, {h});
  projection.addOp(elementwise(8, 16), {h}, {a});
  projection.addOp(matmul(8, 16, 2), {a, w}, {y});
  EXPECT_TRUE(isTied(v[1], w[0])); // the features
  EXPECT_TRUE(isTied(x[0], y[0])); // the samples
  EXPECT_TRUE(isTied(x[1], v[0]));
  EXPECT_FALSE(isTied(x[0], x[1]));
  EXPECT_FALSE(isTied(v[1], y[1]));
  EXPECT_TRUE(factorOf(x[0]).isParallel());
  EXPECT_EQ(factorOf(x[0]).size, 8);
  // Its first reader computes a part of it, its second one a term.
  EXPECT_TRUE(factorOf(h[1]).isReduced);
  EXPECT_FALSE(factorOf(h[1]).isParallel());
}

TEST_F(FactorProjectionTest, LoopsBelongToTheFactorOfTheirDims) {
  Dims x = tensor({8, 4}), v = tensor({4, 16}), h = tensor({8, 16});
  int op = projection.addOp(matmul(8, 4, 16), {x, v}, {h});
  EXPECT_EQ(projection.factorOfLoop(op, 0), projection.factorOfDim(h[0]));
  EXPECT_EQ(projection.factorOfLoop(op, 1), projection.factorOfDim(v[0]));
  EXPECT_EQ(projection.factorOfLoop(op, 2), projection.factorOfDim(v[1]));
}

TEST_F(FactorProjectionTest, AWholeDimTiesNothingAndIsTold) {
  Dims x = tensor({8, 4}), y = tensor({8, 4});
  ShardingRule softmax = makeRule({{8}}, {{0, kWhole}}, {{0, kWhole}});
  int op = projection.addOp(softmax, {x}, {y});
  EXPECT_TRUE(isTied(x[0], y[0]));
  EXPECT_FALSE(isTied(x[1], y[1]));
  EXPECT_TRUE(factorOf(x[1]).isWhole);
  EXPECT_TRUE(factorOf(y[1]).isWhole);
  EXPECT_TRUE(factorOf(x[0]).isParallel());
  auto whole = projection.getWholeDims();
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0].dim, x[1]);
  EXPECT_EQ(whole[0].op, op);
  EXPECT_FALSE(whole[0].place.isResult);
  EXPECT_EQ(whole[1].dim, y[1]);
  EXPECT_TRUE(whole[1].place.isResult);
}

TEST_F(FactorProjectionTest, WholeIsOfAllThatIsTied) {
  Dims x = tensor({8, 4}), y = tensor({8, 4}), z = tensor({8, 4});
  projection.addOp(makeRule({{8}}, {{0, kWhole}}, {{0, kWhole}}), {y}, {z});
  EXPECT_TRUE(factorOf(x[1]).isParallel());
  projection.addOp(elementwise(8, 4), {x}, {y}); // ties what is whole
  EXPECT_TRUE(factorOf(x[1]).isWhole);
}

TEST_F(FactorProjectionTest, AFreeDimTiesNobody) {
  // A constant of two readers, each of which may have another part of it.
  Dims constant = tensor({8, 4}), x = tensor({8, 4}), y = tensor({8, 4});
  const int kFree = FactorProjection::kFree;
  projection.addOp(makeRule({{8}, {4}}, {}, {{0, 1}}), {}, {constant});
  projection.addOp(elementwise(8, 4), {{kFree, constant[1]}}, {x});
  int last = projection.addOp(elementwise(8, 4), {{kFree, constant[1]}}, {y});
  EXPECT_FALSE(isTied(constant[0], x[0]));
  EXPECT_FALSE(isTied(x[0], y[0]));
  EXPECT_TRUE(isTied(x[1], y[1]));
  EXPECT_EQ(projection.factorOfLoop(last, 0), projection.factorOfDim(y[0]));
  // Nor is anything gathered for a reader that wants it whole.
  projection.addOp(makeRule({}, {{kWhole}}, {}), {{kFree}}, {});
  EXPECT_TRUE(projection.getWholeDims().empty());
}

TEST_F(FactorProjectionTest, ALoopWithoutDimsIsAFactorOfItsOwn) {
  Dims x = tensor({8});
  int op = projection.addOp(makeRule({{8}, {5}}, {{0}}, {}), {x}, {});
  EXPECT_NE(projection.factorOfLoop(op, 1), projection.factorOfDim(x[0]));
  EXPECT_EQ(projection.getFactor(projection.factorOfLoop(op, 1)).size, 5);
}

TEST_F(FactorProjectionTest, ALoopMayBeTheSlowestPartOfADim) {
  // [4, 6] to [24]: who divides 4 divides 24.
  Dims x = tensor({4, 6}), y = tensor({24});
  projection.addOp(makeRule({{4}}, {{0, kWhole}}, {{0}}), {x}, {y});
  EXPECT_TRUE(isTied(x[0], y[0]));
  EXPECT_TRUE(factorOf(x[0]).isSlowestPart);
  EXPECT_FALSE(factorOf(x[0]).isParallel());
  EXPECT_EQ(factorOf(y[0]).size, 4);
}

TEST_F(FactorProjectionTest, ASumWithItsTransposeTiesBothDims) {
  Dims x = tensor({8, 8}), t = tensor({8, 8}), y = tensor({8, 8});
  projection.addOp(makeRule({{8}, {8}}, {{0, 1}}, {{1, 0}}), {x}, {t});
  EXPECT_FALSE(isTied(x[0], x[1]));
  projection.addOp(makeRule({{8}, {8}}, {{0, 1}, {0, 1}}, {{0, 1}}), {x, t},
                   {y});
  EXPECT_TRUE(isTied(x[0], x[1]));
  EXPECT_TRUE(isTied(x[0], y[1]));
}

/// A program of ops with random rules, and the ties that one dim spreads in
/// it, op by op, until nothing changes.
class RandomProgram {
public:
  explicit RandomProgram(unsigned seed) : random(seed) {
    for (int i = 0; i < 24; ++i)
      projection.addDim(kSize);
    for (int i = 0; i < 10; ++i)
      addOp();
  }

  std::vector<bool> spreadFrom(int first) const {
    std::vector<bool> reached(24);
    reached[first] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Op &op : ops)
        changed |= spread(op, reached);
    }
    return reached;
  }

  FactorProjection projection;

private:
  static constexpr int64_t kSize = 6;
  struct Op {
    ShardingRule rule;
    SmallVector<Dims> operands, results;
  };

  int draw(int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  }

  void addTensor(SmallVector<SmallVector<int>> &rules,
                 SmallVector<Dims> &tensors) {
    rules.emplace_back();
    tensors.emplace_back();
    for (int dims = draw(0, 2); dims > 0; --dims) {
      rules.back().push_back(draw(kWhole, 2));
      tensors.back().push_back(draw(0, 23));
    }
  }

  void addOp() {
    Op op;
    op.rule.factors.assign(3, {kSize});
    for (int i = 0; i < 2; ++i)
      addTensor(op.rule.operandDims, op.operands);
    addTensor(op.rule.resultDims, op.results);
    projection.addOp(op.rule, op.operands, op.results);
    ops.push_back(std::move(op));
  }

  static int numberOf(const Op &op, const RuleDim &dim) {
    return (dim.isResult ? op.results : op.operands)[dim.tensor][dim.dim];
  }

  static bool spread(const Op &op, std::vector<bool> &reached) {
    bool changed = false;
    for (const RuleDim &from : listDims(op.rule))
      for (const RuleDim &to : listDims(op.rule)) {
        const int there = numberOf(op, to);
        if (from.loop != to.loop || from.isWhole() ||
            !reached[numberOf(op, from)] || reached[there])
          continue;
        reached[there] = changed = true;
      }
    return changed;
  }

  std::mt19937 random;
  std::vector<Op> ops;
};

TEST(RandomFactors, TiesAreThoseThatSpreadOpByOp) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomProgram program(seed);
    for (int from = 0; from < 24; ++from) {
      const std::vector<bool> reached = program.spreadFrom(from);
      for (int to = 0; to < 24; ++to)
        ASSERT_EQ(program.projection.factorOfDim(from) ==
                      program.projection.factorOfDim(to),
                  bool(reached[to]))
            << "program " << seed << ", dims " << from << " and " << to;
    }
  }
}

} // namespace
} // namespace zc
