#include "kernels/Calls/Norm.h"
#include "test/unit/kernels/Calls/CallBuilder.h"

namespace zc::kernels::test {
namespace {

const CallTensor kImage{ElementType::BF16, {1, 1, 2, 2}},
    kChannels{ElementType::F32, {2}}, kPixel{ElementType::F32, {1}};

LibraryCall makeGradient() {
  LibraryCall call;
  call.op = "batch_norm_grad";
  call.inputs = {kImage, kChannels, kChannels, kChannels, kChannels, kImage};
  call.outputs = {kImage, kChannels, kChannels};
  call.hasWorkspace = true;
  return call;
}

LibraryCall makeForward() {
  LibraryCall call;
  call.op = "batch_norm_training";
  call.inputs = {kImage, kChannels, kChannels, kImage};
  call.outputs = {kImage, kChannels, kChannels};
  call.attributes = {{"epsilon", {}, 0.5, ""},
                     {"train.norm.addend", {}, 0, ""}};
  call.hasWorkspace = true;
  return call;
}

void expect(const char *message, void (*change)(LibraryCall &)) {
  LibraryCall call = makeGradient();
  change(call);
  expectUnsound<NormCall>(call, message);
}

TEST(NormCall, IsChecked) {
  EXPECT_EQ(NormCall::check(makeForward()), "");
  EXPECT_EQ(NormCall::check(makeGradient()), "");
  expectCounts<NormCall>(makeForward());
  expectCounts<NormCall>(makeGradient());
  expect("its scale is", [](LibraryCall &c) { c.inputs[1] = kPixel; });
  expect("its result is", [](LibraryCall &c) { c.outputs[0] = kPixel; });
  expect("its scale_grad is", [](LibraryCall &c) { c.outputs[1] = kImage; });
  expect("it normalises", [](LibraryCall &c) { c.inputs[0] = kPixel; });
  expect("it normalises", // a gradient has no addend
         [](LibraryCall &c) { setText(c, "train.norm.addend"); });
  expect("no workspace", [](LibraryCall &c) { c.hasWorkspace = false; });
}

TEST(NormCall, ForwardsMayHaveAnAddend) {
  int image = 0, other = 0, addend = 0, mean = 0;
  const CallAddresses addresses{{&image, &other, &other, &addend},
                                {&other, &mean, &other}};
  const NormLaunch launch = NormCall::launch(makeForward(), addresses);
  EXPECT_EQ(launch.spec.epsilon, 0.5);
  EXPECT_EQ(launch.spec.image.dims, (std::vector<int64_t>{1, 2, 1, 2}));
  EXPECT_EQ(launch.image, &image);
  EXPECT_EQ(launch.addend, &addend);
  EXPECT_EQ(launch.mean, &mean);
  EXPECT_EQ(launch.grad, nullptr);
}

} // namespace
} // namespace zc::kernels::test
