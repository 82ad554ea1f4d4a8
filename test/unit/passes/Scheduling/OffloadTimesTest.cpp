//===- OffloadTimesTest.cpp -----------------------------------------------===//
#include "passes/Scheduling/OffloadTimes.h"

#include "compiler/Driver/TargetServices.h"
#include "dialects/Sched/SchedDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/Twine.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace zc {
namespace {

class OffloadTimesTest : public ::testing::Test {
protected:
  OffloadTimesTest() {
    DialectRegistry registry;
    registerTargets(registry, makeTargetServices());
    context.appendDialectRegistry(registry);
    context.loadDialect<sched::SchedDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
  }

  /// A machine that copies 100 bytes in a second.
  const Target &target(const char *device) {
    std::string text =
        ("#sched.target<device = \"" + llvm::Twine(device) +
         "\", machine = #sched.machine<name = \"m\", rates = [#sched.rate<work "
         "= \"kernel\", type = \"f32\", flops = 1.0e9>], bytes = 1.0e9, copy = "
         "1.0e2, copy_seconds = 0.0, host = 5.0e10, launch = 0.0, links = "
         "[#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e9>], ways = "
         "[\"ring\"], axes = [\"dp\"], sizes = [4]>>")
            .str();
    Attribute attribute = parseAttribute(text, &context);
    EXPECT_TRUE(attribute);
    (*module)->setAttr(sched::kTargetAttr, attribute);
    return getTarget(*module);
  }

  /// Four instructions of a second; behind the first one a store of two seconds
  /// begins, and in front of the third one a fetch of one must be there.
  double wait(const char *device, bool bringsBack) {
    copies = {{/*isFetch=*/false, 200, 1, 1}, {/*isFetch=*/true, 100, 1, 2}};
    if (bringsBack)
      copies[1].behind = 0;
    return chooseOffloadTimes(target(device), {1, 1, 1, 1}, copies);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<OffloadCopy> copies;
};

TEST_F(OffloadTimesTest, AStoreDelaysNoFetchOnAGpu) {
  EXPECT_EQ(wait("cuda", /*bringsBack=*/false), 0);
  EXPECT_EQ(copies[1].time, 1u); // begins with the second one
  EXPECT_EQ(copies[0].time, 3u); // is waited for when it has ended
}

TEST_F(OffloadTimesTest, BothWaysShareACpusDisk) {
  EXPECT_EQ(wait("cpu", /*bringsBack=*/false), 2);
}

TEST_F(OffloadTimesTest, WhatIsStoredCanBeFetchedBehindThat) {
  for (const char *device : {"cuda", "cpu"})
    EXPECT_EQ(wait(device, /*bringsBack=*/true), 2) << device;
}

} // namespace
} // namespace zc
