// A target that is made of a described machine: nodes of 4 devices, of which
// each has quick links inside and a slow one outside.
#include "passes/Target/Target.h"

#include "compiler/Driver/TargetServices.h"
#include "test/unit/passes/Parsed.h"
#include "test/unit/passes/Target/Nodes.h"

using namespace mlir;

namespace zc {
namespace {

class DescribedTargetTest : public test::Parsed {
protected:
  /// A program with one sum over `axis`, for a machine whose ranks have the
  /// axes, with the times of collectives that `time` says and further
  /// attributes of the sum.
  dist::CollectiveOpInterface parseSum(const std::string &axis,
                                       const std::string &axes,
                                       CollectiveTime time = {},
                                       const std::string &attributes = "",
                                       const std::string &mesh = "dp=4,tp=2") {
    TargetServices services;
    if (time)
      services.collectiveTime = [=](sched::MachineAttr) { return time; };
    DialectRegistry registry;
    registerTargets(registry, std::move(services));
    own.appendDialectRegistry(registry);
    own.loadDialect<func::FuncDialect, train::TrainDialect, dist::DistDialect,
                    sched::SchedDialect>();
    program = parseSourceString<ModuleOp>(
        R"(module attributes {dist.mesh = #dist.mesh<)" + mesh + R"(>,
            sched.target = #sched.target<device = "cuda",
)" + std::string(test::kNodes) +
            R"(["ring"])" + axes + R"(>>} {
          func.func @step(%x: tensor<1000xf32>) -> tensor<1000xf32> {
            %0 = dist.all_reduce %x {axes = [")" +
            axis + R"("], )" + attributes +
            R"(traffic = "gradients"} : (tensor<1000xf32>) -> tensor<1000xf32>
            return %0 : tensor<1000xf32>
          }
        })",
        &own);
    dist::CollectiveOpInterface found;
    if (program)
      program->walk([&](dist::CollectiveOpInterface op) { found = op; });
    return found;
  }

  MLIRContext own;
  OwningOpRef<ModuleOp> program;
};

constexpr char kTpInside[] = R"(, axes = ["dp", "tp"], sizes = [4, 2])";
constexpr char kDpInside[] = R"(, axes = ["tp", "dp"], sizes = [2, 4])";

TEST_F(DescribedTargetTest, RatesAreTheMachines) {
  const Target &target = getTarget(parseSum("tp", kTpInside));
  EXPECT_EQ(target.rates().flopsOf({"matmul", "f32"}), 2e13);
  EXPECT_EQ(target.rates().flopsOf({"matmul", "bf16"}), 2e14);
  EXPECT_EQ(target.rates().bytes, 1e12);
  EXPECT_EQ(target.rates().copy.bytes, 1e10);
  EXPECT_EQ(target.rates().launchSeconds, 1e-6);
  // Its devices are what they are.
  EXPECT_TRUE(target.runsThreadBlocks());
  EXPECT_TRUE(target.has("cublaslt.epilogue"));
}

TEST_F(DescribedTargetTest, WhatAMachineDoesNotListIsAsFastAsTheNearest) {
  const MachineRates &rates = getTarget(parseSum("tp", kTpInside)).rates();
  EXPECT_EQ(rates.flopsOf({"matmul", "f16"}), 2e13);    // as float32
  EXPECT_EQ(rates.flopsOf({"attention", "f32"}), 1e12); // as generated code
}

TEST_F(DescribedTargetTest, ACutHasTheLinkBetweenItsRoles) {
  // Roles of 2 ranks on nodes of 4: two roles to a node.
  const Target &target = getTarget(parseSum(
      "dp", R"(, axes = ["pp", "dp"], sizes = [4, 2])", {}, "", "pp=4,dp=2"));
  EXPECT_EQ(target.linkOf({"pp"}).bytes, 1e9);
  EXPECT_EQ(target.linkBetween("pp", 0, 1).bytes, 1e11);
  EXPECT_EQ(target.linkBetween("pp", 1, 2).bytes, 1e9);
  EXPECT_EQ(target.linkBetween("pp", 3, 2).bytes, 1e11); // back again
}

TEST_F(DescribedTargetTest, AnAxisHasTheLinkThatJoinsItsRanks) {
  // tp: devices 0 and 1. dp: 0, 2, 4 and 6, of two nodes.
  const Target &target = getTarget(parseSum("tp", kTpInside));
  EXPECT_EQ(target.linkOf({"tp"}).bytes, 1e11);
  EXPECT_EQ(target.linkOf({"dp"}).bytes, 1e9);
  EXPECT_EQ(target.linkOf({"dp"}).seconds, 1e-5);
  EXPECT_EQ(target.linkOf({"tp", "dp"}).bytes, 1e9);
  EXPECT_EQ(target.linkOf({"sp"}).bytes, 1e11); // no axis: nothing is sent
}

TEST_F(DescribedTargetTest, AxesLieAsTheMachineHasThem) {
  // dp: devices 0 to 3. tp: 0 and 4.
  const Target &target = getTarget(parseSum("tp", kDpInside));
  EXPECT_EQ(target.linkOf({"dp"}).bytes, 1e11);
  EXPECT_EQ(target.linkOf({"tp"}).bytes, 1e9);
}

TEST_F(DescribedTargetTest, CollectivesAreTimedByGroup) {
  SmallVector<int64_t> asked;
  auto time = [&](Operation *, ArrayRef<int64_t> devices) {
    asked.assign(devices.begin(), devices.end());
    return 0.5;
  };
  dist::CollectiveOpInterface sum = parseSum("dp", kTpInside, time);
  EXPECT_EQ(getTarget(sum).collectiveSeconds(sum), 0.5);
  EXPECT_EQ(asked, (SmallVector<int64_t>{0, 2, 4, 6}));
}

TEST_F(DescribedTargetTest, TheGroupFurthestApartCounts) {
  // Three along dp: devices 0 to 2 lie on one node, 3 to 5 on two.
  dist::CollectiveOpInterface sum = parseSum(
      "dp", R"(, axes = ["pp", "dp"], sizes = [2, 3])", {}, "", "pp=2,dp=3");
  EXPECT_EQ(getTarget(sum).linkOf({"dp"}).bytes, 1e9);
  EXPECT_DOUBLE_EQ(getTarget(sum).collectiveSeconds(sum), 1e-5 + 8000 / 1e9);
}

TEST_F(DescribedTargetTest, OnlyHoldersTakePart) {
  // The first two of devices 0, 2, 4 and 6 stand on one node.
  dist::CollectiveOpInterface near =
      parseSum("dp", kTpInside, {}, "holders = array<i64: 0, 1>, ");
  EXPECT_DOUBLE_EQ(getTarget(near).collectiveSeconds(near), 1e-6 + 8000 / 1e11);
  dist::CollectiveOpInterface far =
      parseSum("dp", kTpInside, {}, "holders = array<i64: 0, 3>, ");
  EXPECT_DOUBLE_EQ(getTarget(far).collectiveSeconds(far), 1e-5 + 8000 / 1e9);
}

TEST_F(DescribedTargetTest, CopiesHaveTheDevicesLatency) {
  dist::CollectiveOpInterface sum = parseSum("tp", kTpInside);
  EXPECT_EQ(getTarget(sum).rates().copy.seconds, 1e-5);
}

TEST_F(DescribedTargetTest, WithoutTimesACollectiveIsOneMessage) {
  dist::CollectiveOpInterface sum = parseSum("dp", kTpInside);
  EXPECT_DOUBLE_EQ(getTarget(sum).collectiveSeconds(sum), 1e-5 + 8000 / 1e9);
}

/// Tools and tests may register no service that knows clusters.
TEST(NoServiceTest, AMachineIsRefused) {
  DialectRegistry registry;
  registerTargets(registry, TargetServices());
  MLIRContext context(registry);
  context.loadDialect<sched::SchedDialect>();
  auto machine = describeMachine(&context, {"h100-dgx"});
  ASSERT_FALSE(bool(machine));
  EXPECT_EQ(llvm::toString(machine.takeError()),
            "no service describes machines here: cluster 'h100-dgx' is not "
            "known");
}

/// Without a described machine, the file of the device's usual one counts.
TEST(UsualTargetTest, DevicesHaveTheRatesOfTheirUsualMachine) {
  DialectRegistry registry;
  registerTargets(registry, makeTargetServices());
  MLIRContext context(registry);
  context.loadDialect<sched::SchedDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  const Target &target = getTarget(*module);
  EXPECT_EQ(target.device().name, "cpu");
  EXPECT_EQ(target.linkOf({"dp"}).bytes, target.links().front().rates.bytes);
  for (const char *work : {"kernel", "matmul", "attention_backward"})
    EXPECT_EQ(target.rates().flopsOf({work, "bf16"}), 2e11);
  EXPECT_EQ(target.rates().copy.seconds, 2e-5);
}

} // namespace
} // namespace zc
