#include "kernels/Calls/Sparse.h"
#include "test/unit/kernels/Calls/CallBuilder.h"

namespace zc::kernels::test {
namespace {

/// The tensor has 5000 elements.
LibraryCall makeEncoding() {
  LibraryCall call;
  call.op = "sparse_encode";
  call.inputs = {{ElementType::F32, {5000}}};
  call.outputs = {{ElementType::I8, {625}},
                  {ElementType::I64, {3}},
                  {ElementType::F32, {2000}}};
  return call;
}

TEST(SparseCall, IsChecked) {
  EXPECT_EQ(SparseCall::check(makeEncoding()), "");
  expectCounts<SparseCall>(makeEncoding());
  for (size_t part : {0, 1, 2}) {
    LibraryCall call = makeEncoding();
    call.outputs[part] = call.outputs[(part + 1) % 3];
    expectUnsound<SparseCall>(call, "do not fit");
  }
}

TEST(SparseCall, DecodingTurnsTheTensorsRound) {
  LibraryCall call = makeEncoding();
  call.op = "sparse_decode";
  std::swap(call.inputs, call.outputs);
  ASSERT_EQ(SparseCall::check(call), "");
  int parts[4] = {};
  const SparseLaunch launch = SparseCall::launch(
      call, {{&parts[0], &parts[1], &parts[2]}, {&parts[3]}});
  EXPECT_TRUE(launch.spec.decode);
  EXPECT_EQ(launch.spec.elements, 5000);
  EXPECT_EQ(launch.spec.capacity, 2000);
  EXPECT_EQ(launch.dense, &parts[3]);
  EXPECT_EQ(launch.bits, &parts[0]);
}

} // namespace
} // namespace zc::kernels::test
