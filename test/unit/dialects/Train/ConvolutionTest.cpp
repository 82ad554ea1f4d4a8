//===- ConvolutionTest.cpp - convolutions in one piece --------------------===//
//
// The interpreter computes convolutions without their linalg form, but for
// numbers that are rounded to 32 bits: both must agree.
//
//===----------------------------------------------------------------------===//
#include "test/unit/dialects/Train/OpCases.h"

#include "gtest/gtest.h"

using namespace mlir;
using zc::interpreter::Interpreter;

namespace zc::test {
namespace {

// A sum of some hundred products of numbers up to 1, each rounded to 24 bits.
constexpr double kTolerance = 1e-4;

TEST(Convolution, IsWhatItsFormComputes) {
  int cases = 0;
  for (const OpCase &opCase : opCases()) {
    if (!StringRef(opCase.opName()).starts_with("train.conv") ||
        opCase.opName() == "train.convert")
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
