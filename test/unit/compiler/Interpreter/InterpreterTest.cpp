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
