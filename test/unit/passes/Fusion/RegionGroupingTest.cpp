// Tests which ops share a kernel, by programs of a few ops.
#include "passes/Fusion/RegionGrouping.h"
#include "test/unit/passes/Parsed.h"

using namespace mlir;

namespace zc {
namespace {

class RegionGroupingTest : public test::Parsed {
protected:
  /// The names of each group's ops, "exp add", in the order of first ops.
  std::vector<std::string> group(Block *body) {
    std::vector<std::string> found;
    if (!body)
      return found;
    RegionGrouping grouping(*body);
    SmallVector<const RegionGroup *> groups;
    for (const RegionGroup &each : grouping.getGroups())
      groups.push_back(&each);
    llvm::sort(groups, [](const RegionGroup *a, const RegionGroup *b) {
      return a->ops.front()->isBeforeInBlock(b->ops.front());
    });
    for (const RegionGroup *each : groups) {
      std::string names;
      for (Operation *op : each->ops)
        names +=
            (names.empty() ? "" : " ") + op->getName().stripDialect().str();
      found.push_back(names);
    }
    return found;
  }

  using Names = std::vector<std::string>;
  const std::string t = "tensor<256x256xf32>";
  const std::string unary = " : (" + t + ") -> " + t + "\n";
  const std::string binary = " : (" + t + ", " + t + ") -> " + t + "\n";
};

TEST_F(RegionGroupingTest, AChainIsOneKernel) {
  EXPECT_EQ(
      group(parse("%x: " + t, t,
                  "%a = train.exp %x" + unary + "%b = train.tanh %a" + unary +
                      "%c = train.mul %b, %x" + binary + "return %c : " + t)),
      Names({"exp tanh mul"}));
}

TEST_F(RegionGroupingTest, ASumTakesWhatOnlyItReads) {
  EXPECT_EQ(group(parse("%x: " + t, "tensor<256xf32>",
                        "%a = train.exp %x" + unary +
                            "%s = train.reduce \"sum\" %a {dims = array<i64: "
                            "1>} : (" +
                            t +
                            ") -> tensor<256xf32>\n"
                            "return %s : tensor<256xf32>")),
            Names({"exp reduce"}));
}

TEST_F(RegionGroupingTest, AProductStandsAlone) {
  EXPECT_EQ(group(parse("%x: " + t, t,
                        "%a = train.exp %x" + unary +
                            "%m = train.matmul %a, %x" + binary +
                            "%r = train.tanh %m" + unary + "return %r : " + t)),
            Names({"exp", "matmul", "tanh"}));
}

TEST_F(RegionGroupingTest, NoKernelWaitsForItself) {
  // exp and mul in one kernel would need the product, which needs exp.
  EXPECT_EQ(
      group(parse("%x: " + t, t,
                  "%a = train.exp %x" + unary + "%m = train.matmul %a, %x" +
                      binary + "%r = train.mul %a, %m" + binary +
                      "return %r : " + t)),
      Names({"exp", "matmul", "mul"}));
}

TEST_F(RegionGroupingTest, OtherShapesAreOtherKernels) {
  EXPECT_EQ(
      group(parse("%x: " + t + ", %y: tensor<64xf32>", t + ", tensor<64xf32>",
                  "%a = train.exp %x" + unary +
                      "%b = train.exp %y : (tensor<64xf32>) -> "
                      "tensor<64xf32>\nreturn %a, %b : " +
                      t + ", tensor<64xf32>")),
      Names({"exp", "exp"}));
}

TEST_F(RegionGroupingTest, BroadcastsAreRepeatedByTheirReaders) {
  EXPECT_EQ(group(parse("%x: " + t + ", %y: tensor<256xf32>", t,
                        "%b = train.broadcast %y {dims = array<i64: 1>} : "
                        "(tensor<256xf32>) -> " +
                            t + "\n%r = train.add %x, %b" + binary +
                            "return %r : " + t)),
            Names({"add"}));
}

} // namespace
} // namespace zc
