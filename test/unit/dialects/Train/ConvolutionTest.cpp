//===- ConvolutionTest.cpp - convolutions in one piece --------------------===//
//
// The interpreter computes convolutions without their linalg form, but for
// numbers that are rounded to 32 bits: both must agree. So must numbers modulo
// a prime, in which rules of convolutions and of products are proven.
//
//===----------------------------------------------------------------------===//
#include "compiler/Interpreter/Field.h"
#include "compiler/Interpreter/OpKernel.h"
#include "test/unit/dialects/Train/OpCases.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace zc::interpreter;

namespace zc::test {
namespace {

// A sum of some hundred products of numbers up to 1, each rounded to 24 bits.
constexpr double kTolerance = 1e-4;

static bool isConvolution(const OpCase &opCase) {
  return StringRef(opCase.opName()).starts_with("train.conv") &&
         opCase.opName() != "train.convert";
}

static SmallVector<int64_t> shapeOf(Type type) {
  return SmallVector<int64_t>(cast<RankedTensorType>(type).getShape());
}

/// The op's first result of numbers modulo a prime.
static std::vector<Slot> runExactly(Operation *op, ArrayRef<Tensor> inputs) {
  std::vector<SmallVector<int64_t>> operands, results;
  std::vector<std::vector<Slot>> buffers;
  for (auto [type, input] : llvm::zip_equal(op->getOperandTypes(), inputs)) {
    operands.push_back(shapeOf(type));
    std::vector<Slot> &buffer = buffers.emplace_back();
    for (double number : input.floats)
      buffer.push_back({.i = field::ofDouble(number)});
  }
  for (Type type : op->getResultTypes()) {
    results.push_back(shapeOf(type));
    buffers.emplace_back(ShapedType::getNumElements(results.back()), Slot{});
  }
  auto kernel =
      OpKernel::compile(op, operands, results, interpreter::Precision::Exact);
  EXPECT_TRUE(succeeded(kernel));
  std::vector<std::vector<Slot> *> pointers;
  for (std::vector<Slot> &buffer : buffers)
    pointers.push_back(&buffer);
  EXPECT_TRUE(succeeded(kernel) && kernel->run(pointers));
  return buffers[operands.size()];
}

/// Small whole numbers, of which sums of products are exact in float32, too.
TEST(Convolution, IsTheSameOfNumbersModuloAPrime) {
  int convolutions = 0, products = 0;
  for (const OpCase &opCase : opCases()) {
    const bool isProduct =
        StringRef(opCase.opName()).starts_with("train.matmul");
    if (!isProduct && !isConvolution(opCase))
      continue;
    ++(isProduct ? products : convolutions);
    SCOPED_TRACE(opCase.text);
    CaseProgram program(opCase);
    ASSERT_TRUE(program.module);
    auto inputs = program.inputs(/*seed=*/4);
    for (Tensor &input : inputs)
      for (double &number : input.floats)
        number = std::round(4 * number);
    auto byForm =
        Interpreter(interpreter::Precision::Single).run(program.func(), inputs);
    ASSERT_TRUE(succeeded(byForm));
    const std::vector<Slot> exact = runExactly(program.op(), inputs);
    for (auto [a, b] : llvm::zip_equal(byForm->front().floats, exact))
      EXPECT_EQ(a, double(b.i));
  }
  EXPECT_GE(convolutions, 6);
  EXPECT_GE(products, 6);
}

TEST(Convolution, IsWhatItsFormComputes) {
  int cases = 0;
  for (const OpCase &opCase : opCases()) {
    if (!isConvolution(opCase))
      continue;
    ++cases;
    SCOPED_TRACE(opCase.text);
    CaseProgram program(opCase);
    ASSERT_TRUE(program.module);
    const auto inputs = program.inputs(/*seed=*/3);
    auto run = [&](interpreter::Precision precision) {
      return Interpreter(precision).run(program.func(), inputs);
    };
    auto inOnePiece = run(interpreter::Precision::Double);
    auto byForm = run(interpreter::Precision::Single);
    ASSERT_TRUE(succeeded(inOnePiece) && succeeded(byForm));
    ASSERT_EQ(inOnePiece->size(), byForm->size());
    for (auto [one, form] : llvm::zip_equal(*inOnePiece, *byForm)) {
      ASSERT_EQ(one.shape, form.shape);
      for (auto [a, b] : llvm::zip_equal(one.floats, form.floats))
        EXPECT_NEAR(a, b, kTolerance);
    }
  }
  EXPECT_GE(cases, 6);
}

} // namespace
} // namespace zc::test
