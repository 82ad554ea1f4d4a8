#include "runtime/Simulate/InstructionTimes.h"
#include "runtime/Plan/LibraryCalls.h"
#include "test/unit/runtime/PlanBuilder.h"
#include "test/unit/runtime/Simulate/Clusters.h"

#include <gtest/gtest.h>

namespace zc {
namespace {

/// A product [m, k] x [k, n]; the left operand is stored by columns.
plan::Program makeProduct(int64_t m, int64_t n, int64_t k, int64_t batch) {
  plan::Program program;
  auto add = [&](int64_t rows, int64_t columns) {
    return test::addBuffer(program, plan::TRANSIENT, 0, plan::F32,
                           {batch, rows, columns});
  };
  const uint32_t a = add(k, m), b = add(k, n), c = add(m, n);
  test::addCall(program, "matmul", {a, b}, {c}, {"transpose_lhs"});
  program.mutable_instructions(0)->set_flops(2.0 * double(m * n * k * batch));
  program.mutable_instructions(0)->set_bytes(1e6);
  return program;
}

/// Attention of so many samples with one head each.
plan::Program makeAttention(int64_t batch, int64_t length, int64_t width,
                            const std::vector<std::string> &flags = {}) {
  plan::Program program;
  auto add = [&] {
    return test::addBuffer(program, plan::TRANSIENT, 0, plan::F32,
                           {batch, length, 1, width});
  };
  const uint32_t q = add(), k = add(), v = add(), result = add();
  test::addCall(program, "attention", {q, k, v}, {result}, flags);
  program.mutable_instructions(0)->set_flops(
      double(batch * length * width)); // to count with
  program.mutable_instructions(0)->set_bytes(
      double(4 * batch * length * width));
  return program;
}

MeasuredInstruction describeTimed(const plan::Program &program,
                                  double seconds) {
  MeasuredInstruction row = describe(program, program.instructions(0));
  row.seconds = seconds;
  return row;
}

TEST(InstructionTimes, ProductsAreKnownByTheirForm) {
  const plan::Program program = makeProduct(2, 4, 8, 3);
  const kernels::CallWork work = workOf(program, program.instructions(0));
  EXPECT_EQ(work.rate, "matmul");
  ASSERT_TRUE(work.product);
  const kernels::CallProduct product = *work.product;
  EXPECT_EQ(product.m, 2);
  EXPECT_EQ(product.n, 4);
  EXPECT_EQ(product.k, 8);
  EXPECT_EQ(product.batch, 3);
  EXPECT_TRUE(product.transposesA);
  EXPECT_FALSE(product.transposesB);
}

TEST(InstructionTimes, AMeasuredProductOfTheSameFormCounts) {
  SimulatedDevice device = test::idealCluster().device;
  MeasuredMatmul row{2, 4, 8, 3, false, false, plan::F32, 100};
  MeasuredMatmul turned = row;
  turned.transposesA = true;
  turned.flopsPerSecond = 10;
  device.efficiency.matmul.measured = MeasuredProducts({row, turned});
  device.bytesPerSecond = 1; // counts for what was not measured
  const plan::Program program = makeProduct(2, 4, 8, 3);
  EXPECT_NEAR(secondsOf(device, false, program, program.instructions(0)),
              384.0 / 10, 1e-2);
}

TEST(InstructionTimes, MeasuredKernelsTakeThePlaceOfTheirRoofline) {
  SimulatedDevice device = test::idealCluster().device;
  device.launchSeconds = 1;
  plan::Program program;
  plan::Instruction *kernel = program.add_instructions();
  kernel->mutable_kernel();
  kernel->set_label("train.gelu h.0");
  kernel->set_flops(16);
  kernel->set_bytes(8);
  EXPECT_NEAR(secondsOf(device, false, program, *kernel), 1 + 16, 1e-9);
  device.measured.add({"kernel", "train.gelu", 16, 8, 5});
  EXPECT_NEAR(secondsOf(device, false, program, *kernel), 1 + 5, 1e-9);
  // No attention was measured.
  const plan::Program attention = makeAttention(2, 4, 8);
  EXPECT_NEAR(secondsOf(device, false, attention, attention.instructions(0)),
              1 + 2 * 4 * 8, 1e-9);
}

TEST(InstructionTimes, CallsOfTheSameFormTakeAsLongForEachPart) {
  SimulatedDevice device = test::idealCluster().device;
  // Many short ones, and a few long ones with as much work.
  device.measured.add(describeTimed(makeAttention(64, 4, 8), 3));
  device.measured.add(describeTimed(makeAttention(2, 128, 8), 0.1));
  const plan::Program asked = makeAttention(32, 4, 8);
  EXPECT_EQ(describe(asked, asked.instructions(0)).form,
            (std::vector<int64_t>{4, 4, 8, 1}));
  const plan::Program causal = makeAttention(32, 4, 8, {"causal"});
  EXPECT_EQ(describe(causal, causal.instructions(0)).form,
            (std::vector<int64_t>{4, 4, 8, 2}));
  EXPECT_NEAR(secondsOf(device, false, asked, asked.instructions(0)), 1.5, 0.1);
}

TEST(InstructionTimes, KernelsAreKnownByTheirRows) {
  plan::Program program;
  const uint32_t scale =
      test::addBuffer(program, plan::TRANSIENT, 0, plan::F32, {6});
  const uint32_t rows =
      test::addBuffer(program, plan::TRANSIENT, 0, plan::F32, {20, 6});
  const uint32_t loss =
      test::addBuffer(program, plan::TRANSIENT, 0, plan::F32, {});
  plan::Instruction *kernel = program.add_instructions();
  kernel->mutable_kernel()->add_buffers(loss);
  EXPECT_EQ(describe(program, *kernel).form, std::vector<int64_t>{1});
  kernel->mutable_kernel()->add_buffers(scale);
  kernel->mutable_kernel()->add_buffers(rows);
  EXPECT_EQ(describe(program, *kernel).form, std::vector<int64_t>{6});
}

} // namespace
} // namespace zc
