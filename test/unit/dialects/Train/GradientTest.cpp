//===- GradientTest.cpp - every gradient against finite differences -------===//
//
// In double precision a central difference is good to about 1e-10, so a wrong
// gradient cannot hide behind the tolerance.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/TrainDialect.h"
#include "test/unit/dialects/Train/OpCases.h"

#include "gtest/gtest.h"

using namespace mlir;
using zc::interpreter::Interpreter;
using zc::interpreter::Tensor;

namespace zc::test {
namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-6;

/// The results that a gradient reaches and the operands that want one.
struct Question {
  std::vector<bool> reached, wanted;
};

/// A case with @gradient, which takes the operands and the gradients of the
/// results that are reached, and returns those of the operands.
class GradientProgram : public CaseProgram {
public:
  using CaseProgram::CaseProgram;

  /// Builds @gradient; returns the operands whose gradients it returns.
  FailureOr<std::vector<unsigned>> build(const Question &question);
  func::FuncOp gradient;
};

FailureOr<std::vector<unsigned>>
GradientProgram::build(const Question &question) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto clone = cast<func::FuncOp>(builder.clone(*func()));
  clone.setName("gradient");
  gradient = clone;
  Block &block = clone.getBody().front();
  Operation &target = block.front();
  Operation *terminator = block.getTerminator();
  SmallVector<Value> resultGrads(target.getNumResults());
  for (unsigned i = 0; i < target.getNumResults(); ++i)
    if (question.reached[i])
      resultGrads[i] =
          block.addArgument(target.getResult(i).getType(), target.getLoc());
  SmallVector<Value> operandGrads(target.getNumOperands());
  SmallVector<bool> wanted(question.wanted.begin(), question.wanted.end());
  builder.setInsertionPoint(terminator);
  if (failed(cast<DifferentiableOpInterface>(target).vjp(builder, resultGrads,
                                                         wanted, operandGrads)))
    return failure();
  std::vector<unsigned> returned;
  SmallVector<Value> values;
  for (auto [index, value] : llvm::enumerate(operandGrads))
    if (value && wanted[index]) {
      EXPECT_EQ(value.getType(), target.getOperand(index).getType());
      returned.push_back(index);
      values.push_back(value);
    }
  terminator->setOperands(values);
  clone.setType(builder.getFunctionType(block.getArgumentTypes(),
                                        ValueRange(values).getTypes()));
  return returned;
}

class GradientTest : public testing::TestWithParam<size_t> {
protected:
  void checkQuestion(const Question &question);
  double loss(const std::vector<Tensor> &inputs,
              const std::vector<Tensor> &weights, const Question &question);
  void checkOperand(unsigned operand, const Tensor *gradient,
                    std::vector<Tensor> inputs,
                    const std::vector<Tensor> &weights,
                    const Question &question);

  const OpCase &opCase = opCases()[GetParam()];
  GradientProgram program{opCase};
  Interpreter interpreter;
};

/// The sum of the reached results, each weighted with what stands for its
/// gradient.
double GradientTest::loss(const std::vector<Tensor> &inputs,
                          const std::vector<Tensor> &weights,
                          const Question &question) {
  auto results = interpreter.run(program.func(), inputs);
  EXPECT_TRUE(succeeded(results));
  double sum = 0;
  size_t next = 0;
  for (size_t i = 0; i < results->size(); ++i) {
    if (!question.reached[i])
      continue;
    const Tensor &weight = weights[next++];
    for (size_t j = 0; j < weight.size(); ++j)
      sum += weight.floats[j] * (*results)[i].floats[j];
  }
  return sum;
}

void GradientTest::checkOperand(unsigned operand, const Tensor *gradient,
                                std::vector<Tensor> inputs,
                                const std::vector<Tensor> &weights,
                                const Question &question) {
  std::vector<double> &elements = inputs[operand].floats;
  for (size_t i = 0; i < elements.size(); ++i) {
    double middle = elements[i];
    elements[i] = middle + kStep;
    double above = loss(inputs, weights, question);
    elements[i] = middle - kStep;
    double below = loss(inputs, weights, question);
    elements[i] = middle;
    double expected = (above - below) / (2 * kStep);
    double actual = gradient ? gradient->floats[i] : 0;
    EXPECT_NEAR(actual, expected,
                kTolerance * std::max(1.0, std::abs(expected)))
        << "operand " << operand << " element " << i;
  }
}

void GradientTest::checkQuestion(const Question &question) {
  auto returned = program.build(question);
  ASSERT_TRUE(succeeded(returned));
  std::vector<Tensor> inputs = program.inputs(/*seed=*/GetParam() + 1);
  std::mt19937 random(7);
  std::vector<Tensor> weights;
  Operation *op = program.op();
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    if (question.reached[i])
      weights.push_back(
          randomTensor(op->getResult(i).getType(), Range(), random));
  std::vector<Tensor> all = inputs;
  all.insert(all.end(), weights.begin(), weights.end());
  auto gradients = interpreter.run(program.gradient, all);
  ASSERT_TRUE(succeeded(gradients));
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
    if (!question.wanted[operand])
      continue;
    auto found = llvm::find(*returned, operand);
    const Tensor *gradient = found == returned->end()
                                 ? nullptr
                                 : &(*gradients)[found - returned->begin()];
    checkOperand(operand, gradient, inputs, weights, question);
  }
}

/// All of `possible`, and each alone if there are several.
std::vector<std::vector<bool>> allAndEach(const std::vector<bool> &possible) {
  std::vector<std::vector<bool>> choices = {possible};
  if (llvm::count(possible, true) > 1)
    for (size_t i = 0; i < possible.size(); ++i)
      if (possible[i]) {
        choices.emplace_back(possible.size(), false);
        choices.back()[i] = true;
      }
  return choices;
}

// Tests that the gradient of a weighted sum of the results, in every operand,
// is that of finite differences; also where it reaches one result alone or one
// operand alone wants it.
TEST_P(GradientTest, EqualsFiniteDifferences) {
  ASSERT_TRUE(program.module);
  Operation *op = program.op();
  std::vector<bool> floatOperands, floatResults;
  for (Type type : op->getOperandTypes())
    floatOperands.push_back(isFloatTensor(type));
  for (Type type : op->getResultTypes())
    floatResults.push_back(isFloatTensor(type));
  for (const auto &reached : allAndEach(floatResults))
    checkQuestion({reached, floatOperands});
  for (const auto &wanted : allAndEach(floatOperands))
    checkQuestion({floatResults, wanted});
}

bool isProduct(const OpCase &opCase) {
  return llvm::StringRef(opCase.text).starts_with("train.reduce \"prod\"");
}

std::vector<size_t> differentiableCases() {
  std::vector<size_t> indices;
  for (size_t index = 0; index < opCases().size(); ++index) {
    CaseProgram program(opCases()[index]);
    Operation *op = program.op();
    bool isReal = llvm::any_of(op->getOperandTypes(), isFloatTensor) &&
                  llvm::any_of(op->getResultTypes(), isFloatTensor);
    if (isa<DifferentiableOpInterface>(op) && isReal &&
        !isProduct(opCases()[index]))
      indices.push_back(index);
  }
  return indices;
}

// Tests that a product, whose gradient no model needs, says that it has none.
TEST(ProductGradientTest, IsRefused) {
  auto isRefused = [](const OpCase &opCase) {
    GradientProgram program(opCase);
    ScopedDiagnosticHandler ignore(&program.context,
                                   [](Diagnostic &) { return success(); });
    return failed(program.build({{true}, {true}}));
  };
  for (const OpCase &opCase : opCases()) {
    if (isProduct(opCase)) {
      EXPECT_TRUE(isRefused(opCase));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, GradientTest,
                         testing::ValuesIn(differentiableCases()),
                         [](const auto &info) { return caseName(info.param); });

// Tests that no op of the dialect goes untested: each that can be evaluated has
// a case.
TEST(OpCasesTest, CoverEveryOp) {
  MLIRContext context;
  context.loadDialect<train::TrainDialect>();
  std::set<std::string> covered;
  for (const OpCase &opCase : opCases())
    covered.insert(opCase.opName());
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("train"))
    if (name.hasInterface<DifferentiableOpInterface>() ||
        name.hasInterface<ShardableOpInterface>() ||
        name.hasInterface<LinalgFormOpInterface>()) {
      EXPECT_TRUE(covered.count(name.getStringRef().str()))
          << name.getStringRef().str() << " has no case in OpCases.cpp";
    }
}

} // namespace
} // namespace zc::test
