// Checks of a model's operators before its dims have sizes.
#include "compiler/Import/ConstantFolder.h"
#include "compiler/Import/Contrib/ContribOperators.h"
#include "compiler/Import/GraphImporter.h"

using namespace mlir;
using namespace zc;

bool zc::isResolved(const proto::NodeProto &node) {
  StringRef op = node.op_type();
  return node.domain().empty() &&
         (op.contains("Sequence") ||
          llvm::is_contained({"CastLike", "Constant", "Identity", "If", "Loop",
                              "OptionalGetElement", "OptionalHasElement",
                              "Scan", "Shape", "Size"},
                             op));
}

void GraphImporter::checkOperators() {
  Scope scope;
  readOpsets(scope);
  for (const proto::NodeProto *original : findNeededNodes(file.model.graph())) {
    proto::NodeProto node = *original;
    if (node.domain() == "ai.onnx")
      node.clear_domain();
    // Unique is folded where its operand is known, which is rarely so.
    const bool folds = canFold(node) && node.op_type() != "Unique";
    if (isResolved(node) || folds || findContribBody(node) ||
        functions.count(node.domain() + ":" + node.op_type() + ":" +
                        node.overload()))
      continue;
    int version = scope.opsets[node.domain()];
    const proto::OpSchema *schema =
        proto::OpSchemaRegistry::Schema(node.op_type(), version, node.domain());
    bool isSupported =
        schema &&
        (schema->HasFunction() || schema->HasContextDependentFunction() ||
         !options.isSupported ||
         options.isSupported(node.domain(), node.op_type(),
                             schema->SinceVersion()));
    if (!isSupported)
      noteUnsupported(node.domain(), node.op_type(),
                      schema ? "opset " + std::to_string(schema->SinceVersion())
                             : "version " + std::to_string(version),
                      getLocation(node, scope));
  }
  (void)reportUnsupported();
}
