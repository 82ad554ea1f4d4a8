// Names of one role in the words of another, and which roles are equal.
#include "passes/Pipeline/EqualRoles.h"

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Pipeline/Passes.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace zc {
namespace {

TEST(NameMap, LongerNamesGoFirst) {
  NameMap names;
  ASSERT_TRUE(names.add("h.1.fc.weight", "h.12.fc.weight"));
  ASSERT_TRUE(names.add("n7", "n77"));
  EXPECT_EQ(names.apply("state.h.1.fc.weight.exp_avg"),
            "state.h.12.fc.weight.exp_avg");
  EXPECT_EQ(names.apply("copy h.1.fc.bias"), "copy h.12.fc.bias");
  EXPECT_EQ(names.apply("train.matmul n7 n7"), "train.matmul n77 n77");
  // Parts of words are no names.
  EXPECT_EQ(names.apply("n71 h.11 ah.1 n7_x"), "n71 h.11 ah.1 n7_x");
}

TEST(NameMap, Contradictions) {
  NameMap names;
  EXPECT_TRUE(names.add("h.1.a", "h.2.a"));
  EXPECT_TRUE(names.add("h.1.b", "h.2.b"));
  EXPECT_FALSE(names.add("h.1.c", "h.3.c")); // layer 1 is layer 2
  EXPECT_FALSE(names.add("x1", "h.2.a"));    // which is another's
  EXPECT_FALSE(names.add("Add", "Sub"));     // could be words of anything
  EXPECT_FALSE(names.add("0", "2"));
  EXPECT_FALSE(names.add("", "n1"));
  EXPECT_TRUE(names.add("Add", "Add"));
}

TEST(NameMap, Roles) {
  NameMap names;
  names.setRoles(1, 12);
  EXPECT_EQ(names.apply("role1_kernel_3 constant.role1.0 role11_kernel_1"),
            "role12_kernel_3 constant.role12.0 role11_kernel_1");
}

constexpr const char *kRoles = R"mlir(
!x = tensor<8xf32>
module @role0 attributes {train.role = 0 : i64} {
  train.state @h.0.w "parameter" : !x {value = dense<1.0> : !x}
  func.func @step(%x: !x {train.receive = {answered, id = 0 : i64, peer = 3 : i64}},
                  %w: !x {train.state = @h.0.w})
      -> (!x {train.send = {answered, id = 4 : i64, peer = 1 : i64}}) {
    %0 = train.mul %x, %w : (!x, !x) -> !x
    return %0 : !x
  }
}
)mlir";

class EqualRolesTest : public ::testing::Test {
protected:
  EqualRolesTest() {
    context.loadDialect<func::FuncDialect, train::TrainDialect>();
  }

  /// The role, with all of `from` as `to`.
  OwningOpRef<ModuleOp>
  parse(std::initializer_list<std::pair<std::string, std::string>> changes) {
    std::string text = kRoles;
    for (const auto &[from, to] : changes)
      for (size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    auto outer = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(outer);
    if (outer->getOps<ModuleOp>().empty())
      return outer;
    ModuleOp role = *outer->getOps<ModuleOp>().begin();
    role->remove();
    return role;
  }

  bool
  areEqual(std::initializer_list<std::pair<std::string, std::string>> changes) {
    auto role = parse({}), other = parse(changes);
    return compareRoles(*role, *other).has_value();
  }

  MLIRContext context;
};

TEST_F(EqualRolesTest, NamesMessagesAndValuesDiffer) {
  EXPECT_TRUE(areEqual({}));
  EXPECT_TRUE(areEqual({{"h.0.w", "h.3.w"},
                        {"role = 0", "role = 2"},
                        {"dense<1.0>", "dense<2.0>"},
                        {"id = 4", "id = 10"},
                        {"id = 0", "id = 8"},
                        {"peer = 1", "peer = 5"},
                        {"peer = 3", "peer = 4"}}));
}

TEST_F(EqualRolesTest, AllElseMustBeEqual) {
  EXPECT_FALSE(areEqual({{"train.mul", "train.add"}}));
  EXPECT_FALSE(areEqual({{"tensor<8xf32>", "tensor<4xf32>"}}));
  EXPECT_FALSE(areEqual({{"%x, %w :", "%w, %x :"}}));
  EXPECT_FALSE(areEqual({{"\"parameter\"", "\"constant\""}}));
  EXPECT_FALSE(areEqual({{"dense<1.0> : !x}", "dense<1.0> : !x, "
                                              "holders = array<i64: 0, "
                                              "1>}"}}));
  EXPECT_FALSE(areEqual({{"{answered, id = 4", "{id = 4"}}));
  // Messages in another order, and two lines where there was one.
  EXPECT_FALSE(areEqual({{"id = 0", "id = 6"}}));
  EXPECT_FALSE(areEqual({{"train.role = 0 : i64", "train.role = 0 : i64, "
                                                  "train.keep_whole"}}));
}

} // namespace
} // namespace zc
