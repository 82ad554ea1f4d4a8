#include "kernels/Calls/Pooling.h"
#include "test/unit/kernels/Calls/CallBuilder.h"

namespace zc::kernels::test {
namespace {

LibraryCall makePooling() {
  LibraryCall call;
  call.op = "average_pool";
  call.inputs = {{ElementType::F32, {1, 2, 6, 6}}};
  call.outputs = {{ElementType::F32, {1, 2, 3, 3}}};
  setIntegers(call, "window", {3, 3});
  setIntegers(call, "strides", {2, 2});
  setIntegers(call, "pads_low", {1, 1});
  setIntegers(call, "pads_high", {1, 1});
  return call;
}

void expect(const char *message, void (*change)(LibraryCall &)) {
  LibraryCall call = makePooling();
  change(call);
  expectUnsound<PoolingCall>(call, message);
}

TEST(PoolingCall, IsChecked) {
  EXPECT_EQ(PoolingCall::check(makePooling()), "");
  expectCounts<PoolingCall>(makePooling());
  expect("unsuitable types",
         [](LibraryCall &c) { c.inputs[0].type = ElementType::U8; });
  expect("unsuitable types",
         [](LibraryCall &c) { c.outputs[0].type = ElementType::BF16; });
  expect("it pools", [](LibraryCall &c) { c.inputs[0].dims = {6, 6}; });
  expect("it pools", [](LibraryCall &c) { setIntegers(c, "strides", {2, 0}); });
  expect("it pools", [](LibraryCall &c) { setIntegers(c, "strides", {1, 2}); });
  expect("it pools", [](LibraryCall &c) {
    setIntegers(c, "pads_low", {-1, 1});
  });
  expect("it pools", [](LibraryCall &c) {
    setIntegers(c, "pads_high", {1, 3});
  });
  expect("it pools", [](LibraryCall &c) {
    setIntegers(c, "window", {1l << 62, 3});
  });
  expect("it pools", [](LibraryCall &c) {
    setIntegers(c, "window", {3, 3, 1});
  });
  expect("it pools", [](LibraryCall &c) { c.attributes.clear(); });
  expect("it pools", [](LibraryCall &c) { c.outputs[0].dims[1] = 3; });
}

TEST(PoolingCall, AnyRankIsChecked) {
  for (bool channelsLast : {false, true})
    for (const std::vector<int64_t> &dims :
         {std::vector<int64_t>{}, {1}, {1, 2}, {1, 2, 3, 3, 3, 3}})
      for (bool ofInput : {false, true}) {
        LibraryCall call = makePooling();
        if (channelsLast)
          setText(call, "channels_last");
        (ofInput ? call.inputs : call.outputs)[0].dims = dims;
        expectUnsound<PoolingCall>(call, "it pools");
      }
}

TEST(PoolingCall, GradientsTurnImageAndWindowsRound) {
  LibraryCall call = makePooling();
  std::swap(call.inputs, call.outputs);
  call.op = "average_pool_grad";
  ASSERT_EQ(PoolingCall::check(call), "");
  int image = 0, pooled = 0;
  const PoolingLaunch launch = PoolingCall::launch(call, {{&pooled}, {&image}});
  EXPECT_EQ(launch.image, &image);
  EXPECT_EQ(launch.pooled, &pooled);
  EXPECT_EQ(launch.spec.kind, PoolingKind::AverageGradient);
  EXPECT_EQ(launch.spec.image.dims, (std::vector<int64_t>{1, 2, 6, 6}));
}

} // namespace
} // namespace zc::kernels::test
