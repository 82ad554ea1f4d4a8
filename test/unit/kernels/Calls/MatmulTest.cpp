#include "kernels/Calls/Matmul.h"
#include "test/unit/kernels/Calls/CallBuilder.h"

namespace zc::kernels::test {
namespace {

using Dims = std::vector<int64_t>;

/// [4, 3] by [3, 128].
LibraryCall makeMatmul() {
  LibraryCall call;
  call.op = "matmul";
  call.inputs = {{ElementType::F32, {4, 3}, 1},
                 {ElementType::F32, {3, 128}, 2}};
  call.outputs = {{ElementType::F32, {4, 128}, 3}};
  return call;
}

void expect(const char *message, void (*change)(LibraryCall &)) {
  LibraryCall call = makeMatmul();
  change(call);
  expectUnsound<MatmulCall>(call, message);
}

void addInput(LibraryCall &call, ElementType type, const Dims &dims) {
  call.inputs.push_back({type, dims, 4});
}

TEST(MatmulCall, IsChecked) {
  EXPECT_EQ(MatmulCall::check(makeMatmul()), "");
  expectCounts<MatmulCall>(makeMatmul());
  expect("it multiplies", [](LibraryCall &c) { setText(c, "transpose_lhs"); });
  expect("it multiplies", [](LibraryCall &c) { c.inputs[0].dims = {2, 3}; });
  expect("it multiplies", [](LibraryCall &c) { c.inputs[0].dims = {3}; });
  expect("it multiplies", [](LibraryCall &c) { c.outputs[0].dims = {}; });
  expect("it multiplies float16 by float32 into float32",
         [](LibraryCall &c) { c.inputs[0].type = ElementType::F16; });
  expect("it multiplies",
         [](LibraryCall &c) { c.outputs[0].type = ElementType::I32; });
}

/// [16, 32] of E4M3 by [32, 48] of E5M2.
LibraryCall makeScaled() {
  LibraryCall call;
  call.op = "scaled_matmul";
  call.inputs = {{ElementType::U8, {16, 32}, 1},
                 {ElementType::I8, {32, 48}, 2},
                 {ElementType::F32, {}, 3},
                 {ElementType::F32, {}, 4}};
  call.outputs = {{ElementType::BF16, {16, 48}, 5}};
  return call;
}

void expectScaled(const char *message, void (*change)(LibraryCall &)) {
  LibraryCall call = makeScaled();
  change(call);
  expectUnsound<MatmulCall>(call, message);
}

TEST(MatmulCall, FactorsOf8BitsHaveScales) {
  EXPECT_EQ(MatmulCall::check(makeScaled()), "");
  EXPECT_EQ(MatmulCall::workOf(makeScaled()).type, ElementType::U8);
  expectCounts<MatmulCall>(makeScaled());
  expectScaled("stored as int8 and int8",
               [](LibraryCall &c) { c.inputs[0].type = ElementType::I8; });
  expectScaled("stored as bfloat16 and int8",
               [](LibraryCall &c) { c.inputs[0].type = ElementType::BF16; });
  expectScaled("into float16",
               [](LibraryCall &c) { c.outputs[0].type = ElementType::F16; });
  expectScaled("multiples of 16", [](LibraryCall &c) {
    c.inputs[0].dims = {24, 32};
    c.outputs[0].dims = {24, 48};
  });
  expectScaled("its scale is float32 [2]",
               [](LibraryCall &c) { c.inputs[3].dims = {2}; });
  expect("it multiplies uint8", [](LibraryCall &c) {
    c.inputs[0].type = c.inputs[1].type = ElementType::U8;
  });
}

/// [48, 256] by [256, 128]: scales along the sum, and of squares.
LibraryCall makeBlocks() {
  LibraryCall call = makeScaled();
  call.inputs = {{ElementType::U8, {48, 256}, 1},
                 {ElementType::U8, {256, 128}, 2},
                 {ElementType::F32, {2, 48}, 3},
                 {ElementType::F32, {1, 4}, 4}};
  call.outputs = {{ElementType::BF16, {48, 128}, 5}};
  return call;
}

TEST(MatmulCall, BlocksOfFactorsHaveScales) {
  EXPECT_EQ(MatmulCall::check(makeBlocks()), "");
  const MatmulSpec spec = MatmulCall::specOf(makeBlocks());
  EXPECT_EQ(spec.aScale, MatmulScale::Vectors);
  EXPECT_EQ(spec.bScale, MatmulScale::Squares);
  auto expectWrong = [](const char *message, void (*change)(LibraryCall &)) {
    LibraryCall call = makeBlocks();
    change(call);
    expectUnsound<MatmulCall>(call, message);
  };
  expectWrong("its scale is float32 [48, 2]", [](LibraryCall &c) {
    c.inputs[2].dims = {48, 2};
  });
  expectWrong("its scale is float32 [1, 2]", [](LibraryCall &c) {
    c.inputs[3].dims = {1, 2};
  });
  expectWrong("do not go together",
              [](LibraryCall &c) { c.inputs[3].dims = {}; });
  expectWrong("do not go together", [](LibraryCall &c) {
    c.inputs[0].dims = {128, 256};
    c.inputs[2].dims = {1, 4};
    c.outputs[0].dims = {128, 128};
  });
}

TEST(MatmulCall, TransposesAreStrides) {
  LibraryCall call = makeMatmul();
  call.inputs[0].dims = {3, 4};
  setText(call, "transpose_lhs");
  ASSERT_EQ(MatmulCall::check(call), "");
  const MatmulSpec spec = MatmulCall::specOf(call);
  EXPECT_EQ(spec.a.dims, (Dims{4, 3}));
  EXPECT_EQ(spec.a.strides, (Dims{1, 4}));
  EXPECT_EQ(spec.b.strides, (Dims{128, 1}));
}

TEST(MatmulCall, AccumulatorsAreTheProduct) {
  LibraryCall call = makeMatmul();
  call.op = "matmul_add";
  call.inputs.insert(call.inputs.begin(), call.outputs[0]);
  EXPECT_EQ(MatmulCall::check(call), "");
  EXPECT_TRUE(MatmulCall::specOf(call).accumulate);
  EXPECT_EQ(MatmulCall::specOf(call).a.dims, (Dims{4, 3}));
  call.inputs[0].place = {9};
  expectUnsound<MatmulCall>(call, "accumulator");
  call.inputs[0] = {ElementType::F32, {1}, call.outputs[0].place};
  expectUnsound<MatmulCall>(call, "accumulator");
}

TEST(MatmulCall, EpiloguesAreChecked) {
  constexpr const char *kActivation = "train.epilogue.activation";
  expect("do not go together",
         [](LibraryCall &c) { setText(c, kActivation, "gelu_grad"); });
  expect("do not go together",
         [](LibraryCall &c) { setText(c, kActivation, "sine"); });
  expect("do not go together",
         [](LibraryCall &c) { setText(c, "train.epilogue.sums", "all"); });
  expect("do not go together", [](LibraryCall &c) { // sums with a ReLU
    setText(c, kActivation, "relu");
    setText(c, "train.epilogue.sums", "lhs");
    c.outputs.push_back({ElementType::F32, {4}, 5});
  });
  expect("do not go together", [](LibraryCall &c) { // no activation
    setText(c, "train.epilogue.auxiliary");
    c.outputs.push_back({ElementType::F32, {4, 128}, 5});
  });
  expect("its bits are", [](LibraryCall &c) { // too many
    setText(c, kActivation, "relu_grad");
    setText(c, "train.epilogue.auxiliary");
    addInput(c, ElementType::U8, {4, 17});
  });
  expect("its bias is", [](LibraryCall &c) { // of bytes
    setText(c, "train.epilogue.bias");
    addInput(c, ElementType::U8, {128});
  });
  expect("3 inputs and 1 outputs; expected 2 and 1",
         [](LibraryCall &c) { addInput(c, ElementType::F32, {128}); });
}

// As passes/Fusion/MatchEpilogues orders them.
TEST(MatmulCall, PartsOfEpiloguesFollowTheMatrices) {
  LibraryCall call = makeMatmul();
  setText(call, "train.epilogue.activation", "gelu_grad");
  setText(call, "train.epilogue.addend");
  setText(call, "train.epilogue.auxiliary");
  setText(call, "train.epilogue.sums", "columns");
  addInput(call, ElementType::F32, {4, 128});
  addInput(call, ElementType::F32, {4, 128});
  call.outputs.push_back({ElementType::F32, {128}, 6});
  ASSERT_EQ(MatmulCall::check(call), "");
  int in[4] = {}, out[2] = {};
  const MatmulLaunch launch = MatmulCall::launch(
      call, {{&in[0], &in[1], &in[2], &in[3]}, {&out[0], &out[1]}});
  EXPECT_EQ(launch.addend, &in[2]);
  EXPECT_EQ(launch.auxiliary, &in[3]);
  EXPECT_EQ(launch.sums, &out[1]);
  EXPECT_EQ(launch.bias, nullptr);
  EXPECT_EQ(launch.spec.epilogue.sums, MatmulSums::ResultColumns);
}

} // namespace
} // namespace zc::kernels::test
