// Times of collectives on described machines, against the closed forms of
// runtime/Simulate/CollectiveTimes.h.
#include "compiler/Driver/TargetServices.h"
#include "compiler/Driver/ClusterNames.h"

#include "compiler/Driver/Machines.h"
#include "compiler/Driver/Registration.h"
#include "dialects/Dist/DistDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Simulate/Cluster.h"
#include "test/unit/passes/Target/Nodes.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace zc {
namespace {

constexpr double kInside = 1e11, kOutside = 1e9; // bytes a second
constexpr double kSecondsInside = 1e-6, kSecondsOutside = 1e-5;
constexpr double kBytes = 1 << 20;

class TargetServicesTest : public ::testing::Test {
protected:
  TargetServicesTest() {
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<func::FuncDialect, train::TrainDialect,
                        dist::DistDialect, sched::SchedDialect>();
  }

  /// Seconds of one collective of a MiB on nodes of 4 devices.
  double time(const std::string &op, const std::string &attributes,
              const std::string &types, const std::string &ways,
              const std::string &onModule = "") {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
        R"(module attributes {dist.mesh = #dist.mesh<dp=4,tp=2>,)" + onModule +
            R"(sched.target = #sched.target<device = "cuda",
)" + std::string(test::kNodes) +
            ways + R"(, axes = ["dp", "tp"], sizes = [4, 2]>>} {
          func.func @step(%x: )" +
            types.substr(1, types.find(')') - 1) + R"() {
            %0 = "dist.)" +
            op + "\"(%x) {" + attributes + R"(, traffic = "gradients"} : )" +
            types + R"(
            return
          }
        })",
        &context);
    double seconds = -1;
    if (module)
      module->walk([&](dist::CollectiveOpInterface found) {
        seconds = getTarget(found).collectiveSeconds(found);
      });
    return seconds;
  }

  DialectRegistry registry;
  MLIRContext context;
};

constexpr char kWhole[] = "(tensor<262144xf32>) -> tensor<262144xf32>";

TEST_F(TargetServicesTest, RingsInsideOfANode) {
  // Two ranks: one message up and one down, of half of the bytes.
  EXPECT_NEAR(time("all_reduce", R"(axes = ["tp"])", kWhole, R"(["ring"])"),
              2 * (kSecondsInside + kBytes / 2 / kInside), 1e-9);
}

TEST_F(TargetServicesTest, ASumOverRolesIsAnAllReduce) {
  const char *axes = R"(axes = ["tp"])";
  EXPECT_EQ(time("role_sum", axes, kWhole, R"(["ring"])"),
            time("all_reduce", axes, kWhole, R"(["ring"])"));
}

TEST_F(TargetServicesTest, RingsAcrossNodes) {
  // Four ranks on two nodes: 2 x 3 turns, of which two of three cross.
  const double seconds =
      time("all_reduce", R"(axes = ["dp"])", kWhole, R"(["ring"])");
  const double slow = 2 * kBytes * 3 / 4 / kOutside / 2; // shared by a node's 2
  EXPECT_GT(seconds, slow);
  EXPECT_LT(seconds, slow + 6 * (kSecondsInside + kSecondsOutside) +
                         2 * kBytes / kInside);
}

TEST_F(TargetServicesTest, TheQuickestWayIsTaken) {
  const char *axes = R"(axes = ["dp"])";
  const double ring = time("all_reduce", axes, kWhole, R"(["ring"])");
  const double tree = time("all_reduce", axes, kWhole, R"(["tree"])");
  EXPECT_NE(ring, tree);
  EXPECT_EQ(time("all_reduce", axes, kWhole, R"(["ring", "tree"])"),
            std::min(ring, tree));
}

/// The dialect verifies names, which are the simulator's.
TEST_F(TargetServicesTest, EveryWayOfTheSimulatorIsOneOfTheDialect) {
  ASSERT_GE(listWays().size(), 2u);
  for (CollectiveWay way : listWays())
    EXPECT_GT(time("all_reduce", R"(axes = ["dp"])", kWhole,
                   R"([")" + std::string(nameOf(way)) + R"("])"),
              0)
        << nameOf(way);
}

TEST_F(TargetServicesTest, AModulesAlgorithmCounts) {
  const char *axes = R"(axes = ["tp"])";
  // Sequential: N rounds, of which the busiest rank sends (N-1) n.
  EXPECT_NEAR(time("all_reduce", axes, kWhole, R"(["ring"])",
                   R"(dist.algorithm = "sequential", )"),
              2 * kSecondsInside + kBytes / kInside, 1e-9);
}

TEST_F(TargetServicesTest, AGatherIsHalfOfARing) {
  EXPECT_NEAR(time("all_gather", R"(axes = ["tp"], dim = 0 : i64)",
                   "(tensor<131072xf32>) -> tensor<262144xf32>", R"(["ring"])"),
              kSecondsInside + kBytes / 2 / kInside, 1e-9);
}

/// FLOPs a second of an op of f32 or bf16 matrices on a preset.
class ClassesOfWorkTest : public TargetServicesTest {
protected:
  double rateOf(const std::string &op, const std::string &cluster) {
    auto machine = makeTargetServices().describe(&context, {cluster, "cuda"});
    EXPECT_TRUE(bool(machine));
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
        "func.func @step(%x: tensor<256x256xf32>, %y: tensor<256x256xbf16>) {" +
            op + " return }",
        &context);
    (*module)->setAttr(sched::kTargetAttr,
                       sched::TargetAttr::get(&context, "cuda", 1, ArrayAttr(),
                                              "all", *machine));
    double rate = 0;
    module->walk([&](Operation *each) {
      if (each->getNumResults() == 1)
        rate = getTarget(each).flopsOf(each);
    });
    return rate;
  }
};

constexpr char kProduct[] =
    "%0 = train.matmul %x, %x : (tensor<256x256xf32>, tensor<256x256xf32>) -> "
    "tensor<256x256xf32>";
constexpr char kHalfProduct[] =
    "%0 = train.matmul %y, %y : (tensor<256x256xbf16>, tensor<256x256xbf16>) "
    "-> tensor<256x256xbf16>";
constexpr char kSum[] =
    "%0 = train.add %x, %x : (tensor<256x256xf32>, tensor<256x256xf32>) -> "
    "tensor<256x256xf32>";

TEST_F(ClassesOfWorkTest, ProductsHaveTheRateOfTheirType) {
  const double f32 = rateOf(kProduct, "h100-dgx");
  EXPECT_GT(f32, 0.6 * 67e12);
  EXPECT_LE(f32, 0.7 * 67e12);
  EXPECT_NEAR(rateOf(kHalfProduct, "h100-dgx") / f32, 989.0 / 67, 1e-9);
}

TEST_F(ClassesOfWorkTest, GeneratedCodeHasARateOfItsOwn) {
  EXPECT_DOUBLE_EQ(rateOf(kSum, "h100-dgx"), 0.5 * 67e12);
}

TEST_F(ClassesOfWorkTest, MachinesListEveryClassOfTheirFile) {
  auto machine = makeTargetServices().describe(&context, {"h100-dgx", "cuda"});
  ASSERT_TRUE(bool(machine));
  const MachineRates rates(*machine);
  EXPECT_DOUBLE_EQ(rates.flopsOf({"attention", "bf16"}), 0.40 * 989e12);
  EXPECT_DOUBLE_EQ(rates.flopsOf({"attention_backward", "bf16"}),
                   0.33 * 989e12);
  EXPECT_DOUBLE_EQ(rates.flopsOf({"convolution", "f16"}), 0.55 * 989e12);
  EXPECT_GT(rates.flopsOf({"matmul", "f8"}), rates.flopsOf({"matmul", "bf16"}));
}

/// The dialect's names of types are those of cluster files, too.
TEST_F(TargetServicesTest, EveryPresetIsAMachineOfTheDialect) {
  ASSERT_FALSE(listPresets().empty());
  for (const std::string &name : listPresets()) {
    auto machine = makeTargetServices().describe(
        &context, {name, loadCluster(name)->device.target});
    ASSERT_TRUE(bool(machine)) << name;
    std::string text;
    llvm::raw_string_ostream(text) << *machine;
    EXPECT_EQ(parseAttribute(text, &context), *machine) << name;
  }
}

TEST_F(TargetServicesTest, AClusterThatThereIsNoneOfIsNamed) {
  auto machine = makeTargetServices().describe(&context, {"no-such", "cuda"});
  ASSERT_FALSE(bool(machine));
  EXPECT_NE(llvm::toString(machine.takeError()).find("presets are a100-dgx"),
            std::string::npos);
}

} // namespace
} // namespace zc
