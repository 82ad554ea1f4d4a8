//===- Scatter.cpp - Scatter, ScatterElements, ScatterND ------------------===//
#include "passes/Import/Lowering/Indexing.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace zc;

static Value scatterReduce(TensorBuilder &build, StringRef kind, Value table,
                           Value at, Value updates) {
  return train::ScatterReduceOp::create(
      build.builder, build.loc, table.getType(),
      build.builder.getStringAttr(kind), table, at, updates,
      build.builder.getI64IntegerAttr(0));
}

static Value scatterAdd(TensorBuilder &build, Value table, Value at,
                        Value updates) {
  return train::ScatterAddOp::create(build.builder, build.loc, table.getType(),
                                     table, at, updates, 0);
}

Value zc::replaceRows(TensorBuilder &build, Value table, Value at,
                      Value updates) {
  return scatterReduce(build, "last", table, at, updates);
}

/// Of train.scatter_reduce; empty if `reduction` is none of ONNX's.
static StringRef kindOf(StringRef reduction) {
  return llvm::StringSwitch<StringRef>(reduction)
      .Case("add", "sum")
      .Case("mul", "prod")
      .Case("none", "last")
      .Cases({"max", "min"}, reduction)
      .Default("");
}

/// The slices of `table` along dim 0, combined with `updates`.
static LogicalResult scatter(NodeContext &context, Value table, Value at,
                             Value updates) {
  TensorBuilder &build = context.build;
  StringRef reduction = context.node.getString("reduction", "none");
  Value result;
  if (reduction == "add" && isFloat(table))
    result = scatterAdd(build, table, at, updates);
  else if (StringRef kind = kindOf(reduction); !kind.empty())
    result = scatterReduce(build, kind, table, at, updates);
  else
    return context.emitError()
           << "expected a reduction of none, add, mul, max or min, found '"
           << reduction << "'";
  return context.set(build.reshape(result, context.resultShape()));
}

static LogicalResult lowerScatterElements(NodeContext &context) {
  FailureOr<Value> at = elementPositions(context);
  if (failed(at))
    return failure();
  TensorBuilder &build = context.build;
  return scatter(context, flatten(build, context.operand(0)),
                 flatten(build, *at), flatten(build, context.operand(2)));
}

static LogicalResult lowerScatterNd(NodeContext &context) {
  FailureOr<IndexedRows> indexed = indexRows(context, 0);
  if (failed(indexed))
    return failure();
  return scatter(context, indexed->rows, indexed->at, context.operand(2));
}

void zc::registerScatter(LoweringRegistry &registry) {
  registry.add("Scatter", 9, 11, lowerScatterElements);
  registry.add("ScatterElements", 11, 18, lowerScatterElements);
  registry.add("ScatterND", 11, 18, lowerScatterNd);
}
