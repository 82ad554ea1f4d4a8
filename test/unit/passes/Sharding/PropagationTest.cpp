// How often propagation asks the ops of a program.
#include "passes/Sharding/Propagation.h"
#include "test/unit/passes/Parsed.h"

using namespace mlir;

namespace zc {
namespace {

class PropagationTest : public test::Parsed {
protected:
  /// Gradients of so many tables of parameters, each of which ranks have in
  /// parts.
  void makeTables(int count) {
    std::string states, results, lines, returned, types;
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i), comma = i ? ", " : "";
      states += "train.state @t" + n +
                " \"parameter\" : tensor<8x4xf32> "
                "{dist.sharding = #dist.sharding<dp,_>}\n";
      results += comma + "tensor<8x4xf32> {train.state = @t" + n + "}";
      lines += "%z" + n + " = train.constant dense<0.0> : tensor<8x4xf32>\n%g" +
               n + " = train.scatter_add %z" + n +
               ", %i, %u {dim = 0 : i64} : (tensor<8x4xf32>, tensor<6xi64>, "
               "tensor<6x4xf32>) -> tensor<8x4xf32>\n";
      returned += comma + "%g" + n;
      types += comma + "tensor<8x4xf32>";
    }
    module = parseSourceString<ModuleOp>(
        "module attributes {dist.mesh = #dist.mesh<dp=2>} {\n" + states +
            "func.func @step(%i: tensor<6xi64> {train.input = \"i\"}, "
            "%u: tensor<6x4xf32> {train.input = \"u\"}) -> (" +
            results + ") {\n" + lines + "return " + returned + " : " + types +
            "\n}\n}",
        &context);
    ASSERT_TRUE(module);
  }

  int countRounds() {
    auto program = *module->getOps<func::FuncOp>().begin();
    SymbolTable symbols(*module);
    Propagation propagation(program, symbols, dist::getMesh(*module),
                            /*checksTerms=*/true);
    EXPECT_TRUE(succeeded(propagation.run()));
    return propagation.getRounds();
  }

  int countOps(StringRef name) {
    int count = 0;
    module->walk(
        [&](Operation *op) { count += op->getName().getStringRef() == name; });
    return count;
  }
};

TEST_F(PropagationTest, ARoundIsAddedForEachOpThatFinerOnesReplace) {
  for (int tables : {1, 3}) {
    makeTables(tables);
    EXPECT_LE(countRounds(), 1 + tables);
    EXPECT_EQ(countOps("train.scatter_add"), tables);
    // A rank adds to its own rows, of [2, 4] rows: one reshape before, one
    // behind.
    EXPECT_EQ(countOps("train.reshape"), 2 * tables);
    EXPECT_EQ(countRounds(), 1); // nothing is left to be replaced
    EXPECT_EQ(countOps("train.reshape"), 2 * tables);
  }
}

} // namespace
} // namespace zc
