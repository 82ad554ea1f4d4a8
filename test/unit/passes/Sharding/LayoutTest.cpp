// Shardings as passes compute with them.
#include "passes/Sharding/Layout.h"
#include "test/unit/passes/Parsed.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace zc {
namespace {

constexpr int kDp = 0, kTp = 1, kSp = 2;

class LayoutTest : public test::Parsed {
protected:
  dist::MeshAttr mesh() {
    return cast<dist::MeshAttr>(
        parseAttribute("#dist.mesh<dp=2,tp=3,sp=5>", &context));
  }
  dist::ShardingAttr sharding(StringRef text) {
    return cast<dist::ShardingAttr>(
        parseAttribute(("#dist.sharding<" + text + ">").str(), &context));
  }
  Layout parseLayout(StringRef text) {
    return Layout::from(sharding(text), mesh());
  }
};

TEST_F(LayoutTest, AnAttributeComesBackAsItWas) {
  for (StringRef text : {"", "_,_", "dp,_", "dp+tp,sp", "_,sp unreduced dp+tp",
                         "_ unreduced sp"})
    EXPECT_EQ(parseLayout(text).toAttr(mesh()), sharding(text)) << text.str();
}

TEST_F(LayoutTest, AxesAreNumbersOfTheMesh) {
  const Layout layout = parseLayout("dp+tp,_ unreduced sp");
  EXPECT_EQ(layout.dims[0], (Axes{kDp, kTp}));
  EXPECT_TRUE(layout.dims[1].empty());
  EXPECT_TRUE(layout.divides(kTp));
  EXPECT_FALSE(layout.divides(kSp));
  EXPECT_TRUE(layout.isUnreduced(kSp));
  EXPECT_FALSE(layout.isReplicated());
  EXPECT_TRUE(Layout::replicated(int64_t(2)).isReplicated());
}

TEST_F(LayoutTest, SizesOfGroupsMultiply) {
  EXPECT_EQ(groupSize({}, mesh()), 1);
  EXPECT_EQ(groupSize({kDp, kSp}, mesh()), 10);
  EXPECT_EQ(axisNames({kDp, kSp}, mesh()),
            Builder(&context).getStrArrayAttr({"dp", "sp"}));
}

TEST_F(LayoutTest, UnreducedValuesAreNotReplicated) {
  EXPECT_FALSE(parseLayout("_,_ unreduced dp").isReplicated());
  EXPECT_NE(parseLayout("_,_ unreduced dp"), parseLayout("_,_"));
}

TEST_F(LayoutTest, ReductionsKeepDimsThatStayDivided) {
  // The sum over dp is scattered along dim 0: before it, dim 0 is whole there.
  const Layout before =
      beforeReducing(parseLayout("_,tp unreduced dp"), parseLayout("dp,tp"));
  EXPECT_EQ(before, parseLayout("_,tp unreduced dp"));
  // Dim 1 is to be divided over sp, which no sum is taken over: it is before.
  EXPECT_EQ(
      beforeReducing(parseLayout("_,_ unreduced dp"), parseLayout("_,sp")),
      parseLayout("_,sp unreduced dp"));
}

TEST_F(LayoutTest, ValuesAreReplicatedWhereNothingIsSaid) {
  Block *body = parse("%x: tensor<4x6xf32>", "tensor<4x6xf32>",
                      "return %x : tensor<4x6xf32>");
  ASSERT_TRUE(body);
  EXPECT_EQ(layoutOf(body->getArgument(0), mesh()), parseLayout("_,_"));
}

} // namespace
} // namespace zc
