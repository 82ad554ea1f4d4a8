//===- ProgramCompilerTest.cpp - ops on buffers ---------------------------===//
#include "compiler/Interpreter/ProgramCompiler.h"

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace zc::interpreter {
namespace {

class ProgramCompilerTest : public testing::Test {
protected:
  ProgramCompilerTest() {
    context.loadDialect<train::TrainDialect>();
    context.loadAllAvailableDialects();
  }

  std::unique_ptr<Program> compileText(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto program =
        compile(*module->getOps<func::FuncOp>().begin(), Precision::Double);
    return succeeded(program) ? std::move(*program) : nullptr;
  }

  /// Runs a function of one argument, a buffer of floats or integers, which it
  /// changes.
  void run(StringRef text, std::vector<Slot> &buffer,
           llvm::SmallVector<int64_t, 6> sizes,
           llvm::SmallVector<int64_t, 6> strides) {
    auto program = compileText(text);
    ASSERT_TRUE(program);
    View &view = program->frame.views[0];
    view.base = view.data = buffer.data();
    view.sizes = sizes;
    view.strides = strides;
    execute(program->code, program->frame);
  }

  std::vector<double> runFloats(StringRef text, std::vector<double> floats) {
    std::vector<Slot> buffer(floats.size());
    for (size_t i = 0; i < floats.size(); ++i)
      buffer[i].f = floats[i];
    run(text, buffer, {static_cast<int64_t>(floats.size())}, {1});
    for (size_t i = 0; i < floats.size(); ++i)
      floats[i] = buffer[i].f;
    return floats;
  }

  std::vector<int64_t> runIntegers(StringRef text,
                                   std::vector<int64_t> integers) {
    std::vector<Slot> buffer(integers.size());
    for (size_t i = 0; i < integers.size(); ++i)
      buffer[i].i = integers[i];
    run(text, buffer, {static_cast<int64_t>(integers.size())}, {1});
    for (size_t i = 0; i < integers.size(); ++i)
      integers[i] = buffer[i].i;
    return integers;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

// Tests that a loop's values move on all at once: Fibonacci's numbers.
TEST_F(ProgramCompilerTest, RunsLoopsWithValues) {
  auto result = runIntegers(R"(
func.func @f(%b: memref<1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%x = %zero, %y = %one) -> (i64, i64) {
    %sum = arith.addi %x, %y : i64
    scf.yield %y, %sum : i64, i64
  }
  memref.store %r#0, %b[%c0] : memref<1xi64>
  return
})",
                            {0});
  EXPECT_EQ(result[0], 55);
}

// Tests both sides of a condition.
TEST_F(ProgramCompilerTest, RunsConditions) {
  StringRef text = R"(
func.func @f(%b: memref<2xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ten = arith.constant 10 : i64
  %x = memref.load %b[%c0] : memref<2xi64>
  %small = arith.cmpi slt, %x, %ten : i64
  %r = scf.if %small -> i64 {
    %y = arith.addi %x, %ten : i64
    scf.yield %y : i64
  } else {
    scf.yield %x : i64
  }
  memref.store %r, %b[%c1] : memref<2xi64>
  return
})";
  EXPECT_EQ(runIntegers(text, {3, 0})[1], 13);
  EXPECT_EQ(runIntegers(text, {30, 0})[1], 30);
}

// Tests views of views: every second element from the second on, then its last.
TEST_F(ProgramCompilerTest, ComposesSubviews) {
  auto result = runFloats(R"(
func.func @f(%b: memref<8xf32>) {
  %c2 = arith.constant 2 : index
  %seven = arith.constant 7.0 : f32
  %v = memref.subview %b[1] [3] [2] : memref<8xf32> to memref<3xf32, strided<[2], offset: 1>>
  %w = memref.subview %v[%c2] [1] [1] : memref<3xf32, strided<[2], offset: 1>> to memref<f32, strided<[], offset: ?>>
  memref.store %seven, %w[] : memref<f32, strided<[], offset: ?>>
  return
})",
                          std::vector<double>(8, 0));
  EXPECT_EQ(result, (std::vector<double>{0, 0, 0, 0, 0, 7, 0, 0}));
}

// Tests shapes over the same memory.
TEST_F(ProgramCompilerTest, RegroupsDims) {
  auto result = runFloats(R"(
func.func @f(%b: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %e = memref.expand_shape %b [[0, 1]] output_shape [2, 3] : memref<6xf32> into memref<2x3xf32>
  memref.store %one, %e[%c1, %c0] : memref<2x3xf32>
  %c = memref.collapse_shape %e [[0, 1]] : memref<2x3xf32> into memref<6xf32>
  memref.store %two, %c[%c2] : memref<6xf32>
  return
})",
                          std::vector<double>(6, 0));
  EXPECT_EQ(result, (std::vector<double>{0, 0, 2, 1, 0, 0}));
}

// Tests named linalg ops, linalg.index and a reduction.
TEST_F(ProgramCompilerTest, RunsLinalgOps) {
  auto result = runFloats(R"(
func.func @f(%b: memref<4xf32>) {
  %half = arith.constant 0.5 : f32
  %sum = memref.alloca() : memref<f32>
  linalg.fill ins(%half : f32) outs(%sum : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%b : memref<4xf32>) outs(%sum : memref<f32>) {
  ^bb0(%x: f32, %s: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f32
    %p = arith.mulf %x, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  }
  %v = memref.load %sum[] : memref<f32>
  linalg.fill ins(%v : f32) outs(%b : memref<4xf32>)
  return
})",
                          {1, 2, 3, 4});
  EXPECT_EQ(result, std::vector<double>(4, 0.5 + 2 + 6 + 12));
}

// Tests affine expressions at negative numbers, where rounding matters.
TEST_F(ProgramCompilerTest, RunsAffineOps) {
  auto result = runIntegers(R"(
func.func @f(%b: memref<5xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %x = memref.load %b[%c0] : memref<5xindex>
  %f = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%x)
  %c = affine.apply affine_map<(d0) -> (d0 ceildiv 4)>(%x)
  %m = affine.apply affine_map<(d0) -> (d0 mod 4)>(%x)
  %a = affine.max affine_map<(d0) -> (d0 * 2 + 1, -20)>(%x)
  %i = affine.min affine_map<(d0)[s0] -> (d0, s0)>(%x)[%c1]
  memref.store %f, %b[%c0] : memref<5xindex>
  memref.store %c, %b[%c1] : memref<5xindex>
  memref.store %m, %b[%c2] : memref<5xindex>
  memref.store %a, %b[%c3] : memref<5xindex>
  memref.store %i, %b[%c4] : memref<5xindex>
  return
})",
                            {-7, 0, 0, 0, 0});
  EXPECT_EQ(result, (std::vector<int64_t>{-2, -1, 1, -13, -7}));
}

// Tests ops that the machine does not know.
TEST_F(ProgramCompilerTest, RefusesUnknownOps) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  EXPECT_FALSE(compileText(R"(
func.func @f(%b: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %y = arith.constant 0.0 : f32
  %x = memref.atomic_rmw addf %y, %b[%c0] : (f32, memref<4xf32>) -> f32
  return
})"));
  EXPECT_NE(message.find("'memref.atomic_rmw' op is not an op that the "
                         "interpreter knows"),
            std::string::npos)
      << message;
}

} // namespace
} // namespace zc::interpreter
