//===- InterpreterTest.cpp - running programs -----------------------------===//
#include "compiler/Interpreter/Interpreter.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace zc::interpreter {
namespace {

class InterpreterTest : public testing::Test {
protected:
  InterpreterTest()
      : handler(&context, [this](Diagnostic &diagnostic) {
          message += diagnostic.str() + "\n";
          return success();
        }) {
    context.loadDialect<train::TrainDialect, func::FuncDialect>();
  }

  func::FuncOp parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << message;
    return *module->getOps<func::FuncOp>().begin();
  }

  std::vector<Tensor> run(StringRef text, const std::vector<Tensor> &inputs,
                          Precision precision = Precision::Double) {
    auto results = Interpreter(precision).run(parse(text), inputs);
    EXPECT_TRUE(succeeded(results)) << message;
    return succeeded(results) ? *results : std::vector<Tensor>();
  }

  void expectError(StringRef text, const std::vector<Tensor> &inputs,
                   StringRef expected) {
    EXPECT_TRUE(failed(Interpreter().run(parse(text), inputs)));
    EXPECT_NE(message.find(expected.str()), std::string::npos) << message;
  }

  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

constexpr StringRef kThird = R"(
func.func @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = train.div %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
})";

// Tests that floats are doubles, whatever their type says.
TEST_F(InterpreterTest, ComputesInDoublePrecision) {
  auto results =
      run(kThird, {Tensor::ofFloats({}, {1}), Tensor::ofFloats({}, {3})});
  EXPECT_EQ(results[0].floats[0], 1.0 / 3.0);
}

// Tests that every result is rounded on request.
TEST_F(InterpreterTest, RoundsToSinglePrecision) {
  auto results =
      run(kThird, {Tensor::ofFloats({}, {1}), Tensor::ofFloats({}, {3})},
          Precision::Single);
  EXPECT_EQ(results[0].floats[0], 1.0f / 3.0f);
}

std::vector<double> numbersUpTo(int64_t count) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(double((i * 7919) % 1013 - 506) / 64);
  return numbers;
}

// Tests ops whose elements run in rows, longer than one row: of equal strides,
// along a dim that one operand lacks, and by a dim's own numbers.
TEST_F(InterpreterTest, RunsElementsInRows) {
  constexpr int64_t kRows = 3, kColumns = 301;
  const auto x = numbersUpTo(kRows * kColumns), b = numbersUpTo(kRows);
  auto results = run(
      R"(
func.func @f(%x: tensor<3x301xf64>, %b: tensor<3xf64>)
    -> (tensor<3x301xf64>, tensor<301x3xf64>, tensor<301xi64>, tensor<301xf64>) {
  %0 = train.broadcast %b {dims = array<i64: 0>} : (tensor<3xf64>) -> tensor<3x301xf64>
  %1 = train.sub %x, %0 : (tensor<3x301xf64>, tensor<3x301xf64>) -> tensor<3x301xf64>
  %2 = train.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<3x301xf64>) -> tensor<301x3xf64>
  %3 = train.iota {stride = 2 : i64} : () -> tensor<301xi64>
  %4 = train.reduce "max" %x {dims = array<i64: 0>} : (tensor<3x301xf64>) -> tensor<301xf64>
  return %1, %2, %3, %4 : tensor<3x301xf64>, tensor<301x3xf64>, tensor<301xi64>, tensor<301xf64>
})",
      {Tensor::ofFloats({kRows, kColumns}, x), Tensor::ofFloats({kRows}, b)});
  ASSERT_EQ(results.size(), 4u);
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      const double less = x[row * kColumns + column] - b[row];
      EXPECT_EQ(results[0].floats[row * kColumns + column], less);
      EXPECT_EQ(results[1].floats[column * kRows + row], less);
      EXPECT_EQ(results[2].integers[column], 2 * column);
      EXPECT_LE(x[row * kColumns + column], results[3].floats[column]);
    }
}

// Tests a convolution whose window of one element makes one row of all places
// against the product that it is; all numbers are exact.
TEST_F(InterpreterTest, RunsConvolutionsOfOneElementInOneRow) {
  constexpr int64_t kPlaces = 15;
  const auto x = numbersUpTo(2 * kPlaces), w = numbersUpTo(6);
  auto results = run(
      R"(
func.func @f(%x: tensor<1x2x3x5xf64>, %w: tensor<3x2x1x1xf64>) -> tensor<1x3x3x5xf64> {
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x3x5xf64>, tensor<3x2x1x1xf64>) -> tensor<1x3x3x5xf64>
  return %0 : tensor<1x3x3x5xf64>
})",
      {Tensor::ofFloats({1, 2, 3, 5}, x), Tensor::ofFloats({3, 2, 1, 1}, w)});
  ASSERT_EQ(results.size(), 1u);
  for (int64_t k = 0; k < 3; ++k)
    for (int64_t place = 0; place < kPlaces; ++place)
      EXPECT_EQ(results[0].floats[k * kPlaces + place],
                w[2 * k] * x[place] + w[2 * k + 1] * x[kPlaces + place]);
}

// Tests that inputs and constants are rounded too.
TEST_F(InterpreterTest, RoundsInputsToSinglePrecision) {
  auto results = run(R"(
func.func @f(%x: tensor<1xf64>) -> (tensor<1xf64>, tensor<1xf64>) {
  %0 = train.constant dense<0.1> : tensor<1xf64>
  return %x, %0 : tensor<1xf64>, tensor<1xf64>
})",
                     {Tensor::ofFloats({1}, {0.1})}, Precision::Single);
  EXPECT_EQ(results[0].floats[0], 0.1f);
  EXPECT_EQ(results[1].floats[0], 0.1f);
}

// Tests that integers wrap around at their width.
TEST_F(InterpreterTest, WrapsIntegers) {
  auto results = run(R"(
func.func @f(%x: tensor<2xi8>) -> tensor<2xi8> {
  %0 = train.add %x, %x : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
})",
                     {Tensor::ofIntegers({2}, {100, -3})});
  EXPECT_EQ(results[0].integers, (std::vector<int64_t>{-56, -6}));
}

// Tests that big integers are exact.
TEST_F(InterpreterTest, KeepsBigIntegers) {
  auto results = run(R"(
func.func @f(%x: tensor<i64>, %y: tensor<i64>) -> tensor<i64> {
  %0 = train.sub %x, %y : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
})",
                     {Tensor::ofIntegers({}, {(int64_t(1) << 62) + 1}),
                      Tensor::ofIntegers({}, {2})});
  EXPECT_EQ(results[0].integers[0], (int64_t(1) << 62) - 1);
}

// Tests NaN and infinity through max, comparison and select.
TEST_F(InterpreterTest, KeepsNanAndInfinity) {
  auto results = run(R"(
func.func @f(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>, tensor<3xi1>) {
  %0 = train.relu %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = train.is_nan %x : (tensor<3xf32>) -> tensor<3xi1>
  %2 = train.compare "ne" %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xi1>, tensor<3xi1>
})",
                     {Tensor::ofFloats({3}, {NAN, INFINITY, -INFINITY})});
  EXPECT_TRUE(std::isnan(results[0].floats[0]));
  EXPECT_EQ(results[0].floats[1], INFINITY);
  EXPECT_EQ(results[0].floats[2], 0);
  EXPECT_EQ(results[1].integers, (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(results[2].integers, (std::vector<int64_t>{1, 0, 0}));
}

// Tests that a fused region does what its ops do, and that reshapes inside and
// around it change nothing but the shape.
TEST_F(InterpreterTest, RunsFusedRegions) {
  auto results = run(R"(
func.func @f(%x: tensor<2x2xf32>) -> tensor<4xf32> {
  %0 = train.reshape %x : (tensor<2x2xf32>) -> tensor<4xf32>
  %1 = train.fused(%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %2 = train.constant dense<10.0> : tensor<4xf32>
    %3 = train.add %a, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = train.neg %3 : (tensor<4xf32>) -> tensor<4xf32>
    train.yield %4 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
})",
                     {Tensor::ofFloats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(results[0].floats, (std::vector<double>{-11, -12, -13, -14}));
}

// Tests that an interpreter may run a program again, on other inputs.
TEST_F(InterpreterTest, RunsAgain) {
  func::FuncOp func = parse(kThird);
  Interpreter interpreter;
  for (double divisor : {2.0, 4.0, 8.0}) {
    auto results = interpreter.run(
        func, {Tensor::ofFloats({}, {1}), Tensor::ofFloats({}, {divisor})});
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ((*results)[0].floats[0], 1 / divisor);
  }
}

// Tests inputs that do not fit: number, shape, kind.
TEST_F(InterpreterTest, RefusesInputsThatDoNotFit) {
  Tensor one = Tensor::ofFloats({}, {1});
  expectError(kThird, {one}, "has 2 arguments, but got 1 tensors");
  expectError(kThird, {one, Tensor::ofFloats({2}, {1, 2})},
              "argument 1 is 'tensor<f32>', but got floats of shape [2]");
  expectError(kThird, {Tensor::ofIntegers({}, {1}), one},
              "argument 0 is 'tensor<f32>', but got integers of shape []");
}

// Tests that an unknown op is named.
TEST_F(InterpreterTest, RefusesUnknownOps) {
  context.allowUnregisteredDialects();
  expectError(R"(
func.func @f() -> tensor<f32> {
  %0 = "other.op"() : () -> tensor<f32>
  return %0 : tensor<f32>
})",
              {}, "'other.op' op is not an op that the interpreter knows");
}

// Tests that a declaration is refused.
TEST_F(InterpreterTest, RefusesDeclarations) {
  expectError("func.func private @f() -> tensor<f32>", {}, "has no body");
}

} // namespace
} // namespace zc::interpreter
