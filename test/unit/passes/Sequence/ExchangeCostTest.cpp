// Seconds that attention waits for other ranks' tokens, against formulas.
#include "passes/Sequence/ExchangeCost.h"

#include "compiler/Driver/TargetServices.h"

#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Target/Target.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace zc {
namespace {

class ExchangeCostTest : public ::testing::Test {
protected:
  ExchangeCostTest() {
    DialectRegistry registry;
    registerTargets(registry, makeTargetServices());
    context.appendDialectRegistry(registry);
    context.loadDialect<func::FuncDialect, train::TrainDialect,
                        sched::SchedDialect>();
  }

  /// An attention of one sample with 8 heads, 64 wide, whose keys and values
  /// have `keyHeads` heads before they are repeated; `masked`: with a mask of
  /// keys of which nothing is known.
  Operation *parse(int64_t tokens, int64_t keyHeads, bool causal = true,
                   bool masked = false) {
    std::string count = std::to_string(tokens);
    std::string all = "tensor<1x" + count + "x8x64xf32>";
    std::string some = "tensor<1x" + count + "x" + std::to_string(keyHeads);
    std::string apart = some + "x" + std::to_string(8 / keyHeads) + "x64xf32>";
    std::string mask = "tensor<1x1x1x" + count + "xf32>";
    std::string text =
        "func.func @step(%q: " + all + ", %k: " + some +
        "x64xf32>, %m: " + mask + ") -> " + all +
        " {\n%0 = train.broadcast %k {dims = array<i64: 0, 1, 2, 4>} : (" +
        some + "x64xf32>) -> " + apart + "\n%1 = train.reshape %0 : (" + apart +
        ") -> " + all + "\n%r, %s = train.attention %q, %1, %1" +
        (masked ? ", %m" : "") + " {" + (causal ? "causal, " : "") +
        "scale = 1.0 : f64} : (" + all + ", " + all + ", " + all +
        (masked ? ", " + mask : "") + ") -> (" + all + ", tensor<1x8x" + count +
        "xf32>)\nreturn %r : " + all + "\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    Operation *found = nullptr;
    if (module)
      module->walk([&](train::AttentionOp op) { found = op; });
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ExchangeCostTest, HeadsSendEightParts) {
  Operation *op = parse(4096, 8);
  ASSERT_TRUE(op);
  const LinkRates link = getTarget(op).linkOf({"sp"});
  const double bytes = 4096 * 8 * 64 * 4;
  for (int64_t ranks : {2, 4, 8})
    EXPECT_DOUBLE_EQ(estimateExchange(op, {ranks}).heads,
                     8 * link.seconds + 8 * bytes * double(ranks - 1) /
                                            double(ranks * ranks) / link.bytes);
  // A rank of tp has a part of the heads.
  EXPECT_DOUBLE_EQ(estimateExchange(op, {2, 4}).heads,
                   8 * link.seconds + 2 * bytes / 4 / link.bytes);
}

TEST_F(ExchangeCostTest, BlocksHideTurnsOfLongSequences) {
  // Blocks grow with the square of the tokens, messages with the tokens: at
  // last only sums are waited for, and the turn that smaller blocks cost.
  Operation *op = parse(1 << 16, 8);
  ASSERT_TRUE(op);
  const MachineRates &rates = getTarget(op).rates();
  const LinkRates link = getTarget(op).linkOf({"sp"});
  const double part = double(1 << 16) * 8 * 64 / 4, turns = 3;
  EXPECT_DOUBLE_EQ(estimateExchange(op, {4}).ring,
                   turns * 12 * 4 * part / rates.bytes +
                       2 * (link.seconds + 4 * part / link.bytes));
  EXPECT_FALSE(prefersHeads(op, {4}));
}

TEST_F(ExchangeCostTest, ShortSequencesDivideHeads) {
  // Latencies are no different, and nothing hides a turn.
  Operation *op = parse(64, 8);
  ASSERT_TRUE(op);
  EXPECT_TRUE(prefersHeads(op, {8}));
  // 16 ranks cannot divide 8 heads.
  EXPECT_FALSE(prefersHeads(op, {16}));
  EXPECT_FALSE(prefersHeads(op, {4, 4}));
}

TEST_F(ExchangeCostTest, GroupedQueriesKeysGoOnce) {
  Operation *op = parse(1024, 1);
  ASSERT_TRUE(op);
  const double grouped = estimateExchange(op, {4}).ring;
  op = parse(1024, 8);
  ASSERT_TRUE(op);
  EXPECT_LT(grouped, estimateExchange(op, {4}).ring);
}

TEST_F(ExchangeCostTest, ACausalMaskLeavesHalfABlockToHideBehind) {
  Operation *op = parse(512, 8);
  ASSERT_TRUE(op);
  const double causal = estimateExchange(op, {4}).ring;
  op = parse(512, 8, /*causal=*/false);
  ASSERT_TRUE(op);
  EXPECT_LT(estimateExchange(op, {4}).ring, causal);
}

TEST_F(ExchangeCostTest, MasksOfKeysAloneAddNoSums) {
  // Ranks add up means and products for queries that see no key. All see some
  // where no mask is of queries.
  Operation *op = parse(512, 8, /*causal=*/false);
  ASSERT_TRUE(op);
  const double alone = estimateExchange(op, {4}).ring;
  op = parse(512, 8, /*causal=*/false, /*masked=*/true);
  ASSERT_TRUE(op);
  EXPECT_EQ(estimateExchange(op, {4}, /*comesApart=*/true).ring, alone);
}

TEST_F(ExchangeCostTest, ABlockThatIsLevelledHasAMaskOfItsOwn) {
  // It is of a rank's 128 queries and 128 keys, and is written and read in both
  // passes.
  Operation *op = parse(512, 8);
  ASSERT_TRUE(op);
  const double alone = estimateExchange(op, {4}).ring;
  op = parse(512, 8, /*causal=*/true, /*masked=*/true);
  ASSERT_TRUE(op);
  EXPECT_DOUBLE_EQ(estimateExchange(op, {4}).ring,
                   alone + 4 * 128.0 * 128 * 4 / getTarget(op).rates().bytes);
}

} // namespace
} // namespace zc
