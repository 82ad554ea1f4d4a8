// How kernels are cut into blocks, by bodies whose best cut is plain.
#include "passes/Codegen/KernelSplit.h"
#include "test/unit/passes/Parsed.h"

using namespace mlir;

namespace zc {
namespace {

class KernelSplitTest : public test::Parsed {
protected:
  static Value result(Block &body) {
    return body.getTerminator()->getOperand(0);
  }

  /// Every loop cuts its dim evenly, and a block's shape is that of its loops.
  static void expectSound(const KernelSplit &split) {
    int64_t grid = 1;
    for (const SplitLoop &loop : split.loops) {
      EXPECT_GT(loop.blocks, 1);
      grid *= loop.blocks;
    }
    EXPECT_EQ(split.grid(), grid);
    for (const auto &[value, dims] : split.dims) {
      ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
      ASSERT_EQ(dims.size(), shape.size());
      SmallVector<int64_t> local = split.localShape(value);
      for (auto [size, part, loop] : llvm::zip(shape, local, dims)) {
        int64_t blocks = loop < 0 ? 1 : split.loops[size_t(loop)].blocks;
        EXPECT_EQ(part * blocks, size);
      }
    }
  }
};

TEST_F(KernelSplitTest, ElementwiseOpsAreCutIntoRows) {
  Block *body = parse("%x: tensor<256x1024xf32>", "tensor<256x1024xf32>",
                      "%r = train.exp %x : (tensor<256x1024xf32>) -> "
                      "tensor<256x1024xf32>\n"
                      "return %r : tensor<256x1024xf32>");
  ASSERT_TRUE(body);
  KernelSplit split = chooseSplit(*body);
  expectSound(split);
  // About 16 Ki elements a block, of whole rows.
  EXPECT_EQ(split.localShape(result(*body)), SmallVector<int64_t>({16, 1024}));
  EXPECT_EQ(split.grid(), 16);
}

TEST_F(KernelSplitTest, SummedDimsStayWhole) {
  Block *body = parse("%x: tensor<256x1024xf32>", "tensor<256xf32>",
                      "%r = train.reduce \"sum\" %x {dims = array<i64: 1>} : "
                      "(tensor<256x1024xf32>) -> tensor<256xf32>\n"
                      "return %r : tensor<256xf32>");
  ASSERT_TRUE(body);
  KernelSplit split = chooseSplit(*body);
  expectSound(split);
  ASSERT_EQ(split.loops.size(), 1u);
  EXPECT_EQ(split.localShape(body->getArgument(0))[1], 1024);
  // Sums lie side by side: a block has enough of them for vectors.
  EXPECT_EQ(split.localShape(result(*body)), SmallVector<int64_t>({64}));
}

TEST_F(KernelSplitTest, ASquareAndItsTransposeAreNotCut) {
  Block *body = parse("%x: tensor<512x512xf32>",
                      "tensor<512x512xf32>, tensor<512x512xf32>",
                      "%a = train.exp %x : (tensor<512x512xf32>) -> "
                      "tensor<512x512xf32>\n"
                      "%b = train.transpose %a {permutation = array<i64: 1, 0>}"
                      " : (tensor<512x512xf32>) -> tensor<512x512xf32>\n"
                      "return %a, %b : tensor<512x512xf32>, "
                      "tensor<512x512xf32>");
  ASSERT_TRUE(body);
  KernelSplit split = chooseSplit(*body);
  expectSound(split);
  EXPECT_EQ(split.grid(), 1);
}

TEST_F(KernelSplitTest, RowSplitsKeepRows) {
  Block *body = parse("%x: tensor<64x32x128xf32>", "tensor<64x32x128xf32>",
                      "%r = train.exp %x : (tensor<64x32x128xf32>) -> "
                      "tensor<64x32x128xf32>\n"
                      "return %r : tensor<64x32x128xf32>");
  ASSERT_TRUE(body);
  for (int64_t elements : {1, 128, 1000, 4096, 1 << 20}) {
    KernelSplit split = chooseRowSplit(*body, elements);
    expectSound(split);
    int64_t block = 1;
    for (int64_t size : split.localShape(result(*body)))
      block *= size;
    EXPECT_LE(block, std::max<int64_t>(elements, 1));
  }
}

TEST_F(KernelSplitTest, TheCallerMayChooseBlocks) {
  Block *body = parse("%x: tensor<8x48xf32>", "tensor<8x48xf32>",
                      "%r = train.exp %x : (tensor<8x48xf32>) -> "
                      "tensor<8x48xf32>\nreturn %r : tensor<8x48xf32>");
  ASSERT_TRUE(body);
  KernelSplit split = chooseSplit(*body, [](int64_t size, bool innermost) {
    return innermost ? size / 2 : 1;
  });
  expectSound(split);
  EXPECT_EQ(split.localShape(result(*body)), SmallVector<int64_t>({1, 24}));
}

TEST(KernelSplit, DivisorsAreLargest) {
  EXPECT_EQ(largestDivisor(12, 5), 4);
  EXPECT_EQ(largestDivisor(13, 5), 1);
  EXPECT_EQ(largestDivisor(6, 100), 6);
  EXPECT_TRUE(splitsWell(1 << 20));
  EXPECT_FALSE(splitsWell(1000003)); // a prime
}

} // namespace
} // namespace zc
