// A program of train ops from its text, for tests of what passes decide.
#ifndef ZC_TEST_UNIT_PASSES_PARSED_H
#define ZC_TEST_UNIT_PASSES_PARSED_H

#include "dialects/Dist/DistDialect.h"
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <string>

namespace zc::test {

class Parsed : public ::testing::Test {
protected:
  Parsed() {
    mlir::DialectRegistry registry;
    registerTargets(registry, {});
    context.appendDialectRegistry(registry);
    context.loadDialect<mlir::func::FuncDialect, train::TrainDialect,
                        dist::DistDialect, sched::SchedDialect>();
  }

  /// The body of a function with these arguments ("%x: tensor<4xf32>"), results
  /// ("tensor<4xf32>") and lines; its last op returns. Null, with a failure,
  /// where the text is wrong.
  mlir::Block *parse(const std::string &arguments, const std::string &results,
                     const std::string &lines) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @step(" + arguments + ") -> (" + results + ") {\n" + lines +
            "\n}",
        &context);
    EXPECT_TRUE(module);
    if (!module)
      return nullptr;
    return &(*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace zc::test

#endif // ZC_TEST_UNIT_PASSES_PARSED_H
