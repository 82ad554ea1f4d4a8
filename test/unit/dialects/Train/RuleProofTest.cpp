//===- RuleProofTest.cpp - every sharding rule, exactly -------------------===//
//
// The prover of --verify accepts the rule of every op, and no rule that was
// spoilt: a factor of another kind, dims that change places, a whole dim that
// is divided, linearity that is not there.
//
//===----------------------------------------------------------------------===//
#include "compiler/Interpreter/RuleProof.h"
#include "dialects/Interfaces/OpInterfaces.h"
#include "test/unit/dialects/Train/OpCases.h"

#include "gtest/gtest.h"
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using zc::interpreter::RuleProver;
using zc::interpreter::RuleVerdict;
using Outcome = zc::interpreter::RuleVerdict::Outcome;

namespace zc::test {
namespace {

/// Linear, though their rules do not say so; of numbers, none is NaN.
const std::set<std::string> kLinear = {
    "train.dropout_training 0", "train.gelu_grad 1",
    "train.is_nan 0",           "train.mish_grad 1",
    "train.swish_grad 1",       "train.attention_grad 5",
    "train.convert 0",          "train.scatter_reduce 0"};

/// Dims of operands that are whole, but need not be: features of attention's
/// values, depth where a filter has one place. Operand, dim, rank.
const std::set<std::string> kDivisible = {
    "train.attention 2 3 4", "train.conv 0 1 5", "train.conv_input_grad 0 1 5"};

struct Mutant {
  std::string what;
  ShardingRule rule;
};

class RuleProofTest : public testing::TestWithParam<size_t> {
protected:
  void SetUp() override {
    ASSERT_TRUE(program.module);
    op = program.op();
    rule = cast<ShardableOpInterface>(op).getShardingRule();
    for (size_t i = 0; i < op->getNumOperands(); ++i) {
      const Range range = i < opCase.ranges.size() ? opCase.ranges[i] : Range();
      limits.emplace_back(int64_t(range.low), int64_t(range.high) + 1);
    }
  }

  /// Whether a rule is accepted, by a process of its own: a rule may be so
  /// wrong that the op's form cannot be built.
  bool isAccepted(const ShardingRule &rule) {
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(prove(rule).outcome == Outcome::Holds ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  RuleVerdict prove(const ShardingRule &rule) {
    ScopedDiagnosticHandler silent(&program.context,
                                   [](Diagnostic &) { return success(); });
    return RuleProver(/*seed=*/1).prove(op, rule, limits);
  }

  bool isFloat(size_t operand) {
    return isFloatTensor(op->getOperand(operand).getType());
  }

  void addKinds(std::vector<Mutant> &mutants);
  void addLinearity(std::vector<Mutant> &mutants);
  void addDims(std::vector<Mutant> &mutants);
  void addWholeDims(std::vector<Mutant> &mutants);

  const OpCase &opCase = opCases()[GetParam()];
  CaseProgram program{opCase};
  Operation *op = nullptr;
  ShardingRule rule;
  std::vector<std::pair<int64_t, int64_t>> limits;
};

TEST_P(RuleProofTest, TheRuleHolds) {
  const RuleVerdict verdict = prove(rule);
  // One case has no row that goes anywhere: all is 0, and nothing is shown.
  if (opCase.ranges.size() > 1 && opCase.ranges[1].high < 0) {
    EXPECT_EQ(verdict.outcome, Outcome::NotShown);
    return;
  }
  EXPECT_EQ(verdict.outcome, Outcome::Holds)
      << rule.toString() << ": " << verdict.why;
}

/// Terms that are taken for parts, and the other way round.
void RuleProofTest::addKinds(std::vector<Mutant> &mutants) {
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    if (rule.factors[i].size < 2)
      continue;
    Mutant mutant{"kind of factor " + std::to_string(i), rule};
    FactorKind &kind = mutant.rule.factors[i].kind;
    kind = kind == FactorKind::Parallel ? FactorKind::Sum
           : kind == FactorKind::Sum    ? FactorKind::Parallel
                                        : FactorKind::Sum;
    mutants.push_back(std::move(mutant));
  }
}

void RuleProofTest::addLinearity(std::vector<Mutant> &mutants) {
  Mutant joint{"all together", rule}, apart{"each alone", rule};
  size_t numJoint = 0, numApart = 0;
  for (size_t i = 0; i < rule.linearity.size(); ++i) {
    if (!isFloat(i))
      continue;
    const std::string name = opCase.opName() + " " + std::to_string(i);
    if (rule.linearity[i] == Linearity::None && !kLinear.count(name)) {
      mutants.push_back({"linear in " + std::to_string(i), rule});
      mutants.back().rule.linearity[i] = Linearity::Separate;
    }
    numApart += rule.linearity[i] == Linearity::Separate;
    numJoint += rule.linearity[i] == Linearity::Joint;
    if (rule.linearity[i] == Linearity::Separate)
      joint.rule.linearity[i] = Linearity::Joint;
    if (rule.linearity[i] == Linearity::Joint)
      apart.rule.linearity[i] = Linearity::Separate;
  }
  if (numApart > 1)
    mutants.push_back(std::move(joint));
  if (numJoint > 1)
    mutants.push_back(std::move(apart));
}

/// Two dims of one operand change places.
void RuleProofTest::addDims(std::vector<Mutant> &mutants) {
  for (size_t i = 0; i < rule.operandDims.size(); ++i)
    for (size_t b = 1; b < rule.operandDims[i].size(); ++b)
      for (size_t a = 0; a < b; ++a) {
        Mutant mutant{"dims " + std::to_string(a) + " and " +
                          std::to_string(b) + " of operand " +
                          std::to_string(i),
                      rule};
        std::swap(mutant.rule.operandDims[i][a], mutant.rule.operandDims[i][b]);
        if (rule.operandDims[i][a] != rule.operandDims[i][b])
          mutants.push_back(std::move(mutant));
      }
}

/// A dim that must be whole is divided.
void RuleProofTest::addWholeDims(std::vector<Mutant> &mutants) {
  constexpr int whole = ShardingRule::kWhole;
  for (size_t i = 0; i < rule.operandDims.size(); ++i)
    for (size_t dim = 0; dim < rule.operandDims[i].size(); ++dim) {
      const auto type = cast<RankedTensorType>(op->getOperand(i).getType());
      const int64_t size = type.getDimSize(dim);
      if (rule.operandDims[i][dim] != whole || size < 2 ||
          kDivisible.count(opCase.opName() + " " + std::to_string(i) + " " +
                           std::to_string(dim) + " " +
                           std::to_string(type.getRank())))
        continue;
      Mutant mutant{"whole dim " + std::to_string(dim) + " of operand " +
                        std::to_string(i),
                    rule};
      const int factor = mutant.rule.addFactor(size);
      mutant.rule.operandDims[i][dim] = factor;
      bool isInResult = false;
      for (size_t r = 0; r < rule.resultDims.size(); ++r) {
        auto &dims = mutant.rule.resultDims[r];
        const auto result = cast<RankedTensorType>(op->getResult(r).getType());
        if (dim < dims.size() && dims[dim] == whole &&
            result.getDimSize(dim) == size) {
          dims[dim] = factor;
          isInResult = true;
        }
      }
      if (isInResult)
        mutants.push_back(std::move(mutant));
    }
}

TEST_P(RuleProofTest, SpoiltRulesAreFound) {
  std::vector<Mutant> mutants;
  addKinds(mutants);
  addLinearity(mutants);
  addDims(mutants);
  addWholeDims(mutants);
  for (const Mutant &mutant : mutants)
    EXPECT_FALSE(isAccepted(mutant.rule))
        << mutant.what << ": " << mutant.rule.toString();
}

INSTANTIATE_TEST_SUITE_P(AllOps, RuleProofTest,
                         testing::Range<size_t>(0, opCases().size()),
                         [](const auto &info) { return caseName(info.param); });

} // namespace
} // namespace zc::test
