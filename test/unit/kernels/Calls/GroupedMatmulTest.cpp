#include "kernels/Calls/GroupedMatmul.h"
#include "test/unit/kernels/Calls/CallBuilder.h"

namespace zc::kernels::test {
namespace {

/// 6 rows by 3 experts.
LibraryCall makeGrouped(bool gradient) {
  const CallTensor rows{ElementType::F32, {6, 4}},
      products{ElementType::F32, {6, 5}}, matrices{ElementType::F32, {3, 4, 5}};
  LibraryCall call;
  call.op = gradient ? "grouped_matmul_grad" : "grouped_matmul";
  call.inputs = {rows,
                 gradient ? products : matrices,
                 {ElementType::I64, {6}},
                 {ElementType::I32, {3}}};
  call.outputs = {gradient ? matrices : products};
  call.hasWorkspace = true;
  return call;
}

TEST(GroupedMatmulCall, IsChecked) {
  for (bool gradient : {false, true}) {
    EXPECT_EQ(GroupedMatmulCall::check(makeGrouped(gradient)), "");
    expectCounts<GroupedMatmulCall>(makeGrouped(gradient));
    auto expect = [&](const char *message, void (*change)(LibraryCall &)) {
      LibraryCall call = makeGrouped(gradient);
      change(call);
      expectUnsound<GroupedMatmulCall>(call, message);
    };
    expect("does not fit",
           [](LibraryCall &c) { setText(c, "transpose_weights"); });
    expect("does not fit", [](LibraryCall &c) { c.inputs[2] = c.inputs[3]; });
    expect("does not fit", [](LibraryCall &c) { c.inputs[3] = c.inputs[0]; });
    expect("does not fit", [](LibraryCall &c) { c.outputs[0] = c.inputs[0]; });
    expect("does not fit", [](LibraryCall &c) { c.inputs[1] = c.inputs[2]; });
    expect("unsuitable types",
           [](LibraryCall &c) { c.inputs[0].type = ElementType::F64; });
    expect("no workspace", [](LibraryCall &c) { c.hasWorkspace = false; });
  }
}

TEST(GroupedMatmulCall, RowsMayHaveTwoDims) {
  LibraryCall call = makeGrouped(false);
  call.inputs[0].dims = {2, 3, 4};
  call.inputs[2].dims = {2, 3};
  call.outputs[0].dims = {2, 3, 5};
  ASSERT_EQ(GroupedMatmulCall::check(call), "");
  EXPECT_EQ(GroupedMatmulCall::specOf(call).rows, 6);
  EXPECT_EQ(GroupedMatmulCall::specOf(call).columns, 5);
}

} // namespace
} // namespace zc::kernels::test
