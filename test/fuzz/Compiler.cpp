// The files that the compiler reads: models, binary and text, rules, and its
// own IR as text.
#include "compiler/Driver/Registration.h"
#include "compiler/Driver/RuleFile.h"
#include "compiler/Import/Import.h"
#include "dialects/Dist/DistDialect.h"
#include "passes/Sharding/HandShardings.h"
#include "runtime/Base/File.h"
#include "test/fuzz/Fuzz.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <memory>

namespace zc::fuzz {
namespace {

/// A context keeps what inputs have made of attributes and types: a new one now
/// and then.
mlir::MLIRContext &freshContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static int uses = 0;
  if (uses++ % 256 == 0) {
    context = std::make_unique<mlir::MLIRContext>(
        mlir::MLIRContext::Threading::DISABLED);
    context->loadDialect<dist::DistDialect>();
    context->getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
  }
  return *context;
}

void import(std::string_view input, const std::string &name) {
  const std::string path = scratch() + "/" + name;
  if (!writeFile(path, input).ok())
    std::abort();
  ModelImportOptions options;
  options.path = path;
  (void)importModel(&freshContext(), options);
}

void importBinary(std::string_view input) { import(input, "m.onnx"); }
void importText(std::string_view input) { import(input, "m.onnxtext"); }

void readRules(std::string_view input) {
  llvm::Expected<std::string> rules = parseRuleFile(input, "rules");
  if (!rules)
    return llvm::consumeError(rules.takeError());
  mlir::MLIRContext &context = freshContext();
  auto mesh = mlir::cast<dist::MeshAttr>(
      mlir::parseAttribute("#dist.mesh<dp=2, tp=2>", &context));
  auto module = mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  llvm::SmallVector<HandSharding> shardings;
  if (mlir::succeeded(parseHandShardings(*rules, /*arePatterns=*/true, "rules",
                                         mesh, *module, shardings)))
    for (const HandSharding &sharding : shardings)
      (void)sharding.matches("model.layers.0.fc.weight");
}

/// As zc-opt reads it: parsed, verified, and printed again. The lexer knows the
/// end by a zero behind it, which libFuzzer's bytes do not have.
void readIr(std::string_view input) {
  static std::unique_ptr<mlir::MLIRContext> context;
  static int uses = 0;
  if (uses++ % 256 == 0) {
    mlir::DialectRegistry registry;
    insertDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
    context->getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
  }
  const std::string text(input);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (module)
    module->print(llvm::nulls());
}

} // namespace

std::vector<Target> listTargets() {
  const std::vector<std::string> operators = {"Add",
                                              "MatMul",
                                              "Reshape",
                                              "Constant",
                                              "Concat",
                                              "Gather",
                                              "Slice",
                                              "Expand",
                                              "Range",
                                              "If",
                                              "Loop",
                                              "Scan",
                                              "Shape",
                                              "Split",
                                              "Where",
                                              "SequenceAt",
                                              "SplitToSequence",
                                              "Softmax",
                                              "Conv",
                                              "Cast"};
  std::vector<std::string> text = operators;
  text.insert(
      text.end(),
      {"float",  "int64", "bool",     "[N]",  "[2,3]",      "=>",
       "<",      ">",     "{",        "}",    "(",          ")",
       "=",      ",",     ":",        "\"\"", "ir_version", "opset_import",
       "domain", "seq(",  "optional("});
  return {{"onnx", importBinary, operators},
          {"onnxtext", importText, text},
          {"rules",
           readRules,
           {"tp", "dp", "-", ",", "+", " ", "\n", "#", ".*", "(", ")", "[", "]",
            "{1,9}", "\\", "|"}},
          {"ir",
           readIr,
           {"module",
            "func.func",
            "train.",
            "dist.",
            "sched.",
            "tensor<",
            "memref<",
            "xf32>",
            "array<i64:",
            "dense<",
            "#dist.mesh<dp=2>",
            "#dist.sharding<dp,_>",
            "loc(",
            "attributes",
            "->",
            "%0",
            "@w",
            "^bb0",
            "{",
            "}",
            "(",
            ")"}}};
}

} // namespace zc::fuzz
