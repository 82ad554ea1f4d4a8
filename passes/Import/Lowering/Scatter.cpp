//===- Scatter.cpp - Scatter, ScatterElements, ScatterND ------------------===//
#include "passes/Import/Lowering/Indexing.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace zc;

using train::ScatterKind;

static Value scatterReduce(TensorBuilder &build, ScatterKind kind, Value table,
                           Value at, Value updates, int64_t rowDims) {
  return train::ScatterReduceOp::create(build.builder, build.loc,
                                        table.getType(), kind, table, at,
                                        updates, rowDims, rowDims);
}

static Value scatterAdd(TensorBuilder &build, Value table, Value at,
                        Value updates, int64_t rowDims) {
  return train::ScatterAddOp::create(build.builder, build.loc, table.getType(),
                                     table, at, updates, rowDims, rowDims);
}

Value zc::putRows(TensorBuilder &build, Value table, Value at, Value updates) {
  return scatterReduce(build, ScatterKind::Alike, table, at, updates, 0);
}

/// The kind of train.scatter_reduce; nothing if `reduction` is none of ONNX's.
static std::optional<ScatterKind> kindOf(StringRef reduction) {
  return llvm::StringSwitch<std::optional<ScatterKind>>(reduction)
      .Case("add", ScatterKind::Sum)
      .Case("mul", ScatterKind::Prod)
      .Case("none", ScatterKind::Last)
      .Case("max", ScatterKind::Max)
      .Case("min", ScatterKind::Min)
      .Default(std::nullopt);
}

/// Whether integers are made of the places of a max pool's maxima. Windows that
/// overlap find the same element: what is put there is alike, and has the
/// gradient as often, as in PyTorch's max_unpool, which is exported so.
static bool followsMaxPool(Value indices) {
  SmallVector<Value> left{indices};
  DenseSet<Operation *> seen;
  while (!left.empty()) {
    auto node = left.pop_back_val().getDefiningOp<onnx::NodeOp>();
    if (!node || !seen.insert(node).second)
      continue;
    if (node.getOpType() == "MaxPool")
      return true;
    for (Value input : node.getInputs())
      if (isa<IntegerType>(getElementTypeOrSelf(input.getType())))
        left.push_back(input);
  }
  return false;
}

/// The slices of `table` behind its first `rowDims` dims, which all three have,
/// combined with `updates`.
static LogicalResult scatter(NodeContext &context, Value table, Value at,
                             Value updates, int64_t rowDims) {
  TensorBuilder &build = context.build;
  StringRef reduction = context.node.getString("reduction", "none");
  Value result;
  if (reduction == "add" && isFloat(table))
    result = scatterAdd(build, table, at, updates, rowDims);
  else if (std::optional<ScatterKind> kind = kindOf(reduction))
    result = scatterReduce(build,
                           kind == ScatterKind::Last &&
                                   followsMaxPool(context.node.getInputs()[1])
                               ? ScatterKind::Alike
                               : *kind,
                           table, at, updates, rowDims);
  else
    return context.emitError()
           << "expected a reduction of none, add, mul, max or min, found '"
           << reduction << "'";
  return context.set(build.reshape(result, context.resultShape()));
}

static LogicalResult lowerScatterElements(NodeContext &context) {
  FailureOr<ElementPositions> positions = elementPositions(context);
  if (failed(positions))
    return failure();
  TensorBuilder &build = context.build;
  int64_t rowDims = positions->rowDims;
  return scatter(context, flatten(build, context.operand(0), rowDims),
                 flatten(build, positions->at, rowDims),
                 flatten(build, context.operand(2), rowDims), rowDims);
}

static LogicalResult lowerScatterNd(NodeContext &context) {
  if (failed(requireIndexVectors(context, 0)))
    return failure();
  Value table = context.operand(0), indices = context.operand(1);
  int64_t depth = shapeOf(indices).back();
  ArrayRef<int64_t> indexed = shapeOf(table).take_front(depth);
  SmallVector<int64_t> rows{ShapedType::getNumElements(indexed)};
  llvm::append_range(rows, shapeOf(table).drop_front(depth));
  Value at =
      flatPosition(context.build, indices,
                   llvm::to_vector(llvm::seq<int64_t>(0, depth)), indexed);
  return scatter(context, context.build.reshape(table, rows), at,
                 context.operand(2), 0);
}

void zc::registerScatter(LoweringRegistry &registry) {
  registry.add("Scatter", 9, 11, lowerScatterElements);
  registry.add("ScatterElements", 11, 18, lowerScatterElements);
  registry.add("ScatterND", 11, 18, lowerScatterNd);
}
