// Tests which dims few elements leave as they are.
#include "compiler/Interpreter/FewElements.h"
#include "dialects/Interfaces/OpInterfaces.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace zc::interpreter {
namespace {

/// The types of the program's first op, of few elements.
std::string shapesOf(StringRef text) {
  MLIRContext context;
  context.loadDialect<train::TrainDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  auto program = *module->getOps<func::FuncOp>().begin();
  Operation *op = &program.getBody().front().front();
  OwningOpRef<ModuleOp> few =
      makeFewElements(op, cast<ShardableOpInterface>(op).getShardingRule());
  EXPECT_TRUE(few);
  std::string shapes;
  llvm::raw_string_ostream os(shapes);
  llvm::interleaveComma(few->getBody()->front().getOperandTypes(), os);
  os << " -> ";
  llvm::interleaveComma(few->getBody()->front().getResultTypes(), os);
  return shapes;
}

/// Groups are few; their rows stay, so that the room for them is as small
/// beside them as it was.
TEST(FewElements, RowsOfExpertsStayMoreThanTheirRoom) {
  EXPECT_EQ(shapesOf(R"(func.func @f(%x: tensor<64x16xi64>) {
    %s, %r, %c = train.expert_slots %x {capacity = 2 : i64, choices = 1 : i64, experts = 4 : i64} : (tensor<64x16xi64>) -> (tensor<64x16xi64>, tensor<64x8xi64>, tensor<64x4xi64>)
    return
  })"),
            "tensor<4x16xi64> -> tensor<4x16xi64>, tensor<4x8xi64>, "
            "tensor<4x4xi64>");
}

TEST(FewElements, ProductsHaveFew) {
  EXPECT_EQ(
      shapesOf(R"(func.func @f(%x: tensor<64x32xf32>, %w: tensor<32x3xf32>) {
    %0 = train.matmul %x, %w : (tensor<64x32xf32>, tensor<32x3xf32>) -> tensor<64x3xf32>
    return
  })"),
      "tensor<4x4xf32>, tensor<4x3xf32> -> tensor<4x3xf32>");
}

} // namespace
} // namespace zc::interpreter
