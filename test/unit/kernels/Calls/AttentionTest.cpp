#include "kernels/Calls/Attention.h"
#include "test/unit/kernels/Calls/CallBuilder.h"

namespace zc::kernels::test {
namespace {

using Dims = std::vector<int64_t>;

/// The gradient of 2 queries over 3 keys.
LibraryCall makeGradient() {
  const CallTensor queries{ElementType::F32, {1, 2, 1, 1}},
      keys{ElementType::F32, {1, 3, 1, 1}}, sums{ElementType::F32, {1, 1, 2}};
  LibraryCall call;
  call.op = "attention_grad";
  call.inputs = {queries, keys, keys, queries, sums, queries};
  call.outputs = {queries};
  call.attributes = {{"scale", {}, 0.25, ""}};
  call.hasWorkspace = true;
  return call;
}

void expect(const char *message, void (*change)(LibraryCall &)) {
  LibraryCall call = makeGradient();
  change(call);
  expectUnsound<AttentionCall>(call, message);
}

LibraryCall withMask(ElementType type, const Dims &dims) {
  LibraryCall call = makeGradient();
  call.inputs.push_back({type, dims});
  return call;
}

TEST(AttentionCall, IsChecked) {
  EXPECT_EQ(AttentionCall::check(makeGradient()), "");
  expectCounts<AttentionCall>(makeGradient());
  expect("6 inputs", [](LibraryCall &c) { c.op = "attention"; });
  expect("no workspace", [](LibraryCall &c) { c.hasWorkspace = false; });
  expect("do not fit", [](LibraryCall &c) { c.inputs[1] = c.inputs[0]; });
  expect("do not fit", [](LibraryCall &c) { c.inputs[4] = c.inputs[0]; });
  expect("do not fit", [](LibraryCall &c) { c.inputs[0].dims = {2}; });
  expect("its attention is of int64",
         [](LibraryCall &c) { c.inputs[0].type = ElementType::I64; });
}

TEST(AttentionCall, MasksAreAddedOrSayTheLastKeys) {
  const Dims ofKeys{1, 1, 1, 3}, ofQueries{1, 1, 2, 1};
  const LibraryCall added = withMask(ElementType::F32, ofKeys),
                    bounded = withMask(ElementType::I64, ofQueries);
  EXPECT_EQ(AttentionCall::check(added), "");
  EXPECT_EQ(AttentionCall::check(bounded), "");
  EXPECT_TRUE(AttentionCall::specOf(added).masked);
  EXPECT_TRUE(AttentionCall::specOf(bounded).bounded);
  expectUnsound<AttentionCall>(withMask(ElementType::I64, ofKeys),
                               "a mask [1, 1, 1, 3]");
  expectUnsound<AttentionCall>(withMask(ElementType::F32, ofQueries),
                               "a mask [1, 1, 2, 1]");
}

TEST(AttentionCall, LaunchesHaveTheMaskLast) {
  int parts[8] = {};
  CallAddresses addresses;
  for (int i = 0; i < 7; ++i)
    addresses.inputs.push_back(&parts[i]);
  addresses.outputs.push_back(&parts[7]);
  const AttentionLaunch launch = AttentionCall::launch(
      withMask(ElementType::F32, {1, 1, 1, 3}), addresses);
  ASSERT_EQ(launch.buffers.size(), 10u);
  EXPECT_EQ(launch.buffers[5], &parts[5]);
  EXPECT_EQ(launch.buffers[6], &parts[7]);
  EXPECT_EQ(launch.buffers[7], nullptr);
  EXPECT_EQ(launch.buffers[9], &parts[6]);
  EXPECT_EQ(launch.spec.scale, 0.25);
}

} // namespace
} // namespace zc::kernels::test
