//===- States.cpp - initializers become states or constants ---------------===//
//
// A tensor that is trained, updated or large lives in memory: it is a state. A
// small one that never changes is better off in the code, where it fuses.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/States.h"

#include "dialects/Onnx/Location.h"
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc;

// A constant of more elements, unless they are all equal, is a state.
static constexpr int64_t kMaxInlineElements = 16;

// --- Storing a constant once along dims where it does not vary -------------

static bool variesAlong(ArrayRef<Attribute> elements, ArrayRef<int64_t> shape,
                        int64_t dim) {
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(dim + 1))
    inner *= size;
  int64_t period = inner * shape[dim];
  for (int64_t at = 0, end = elements.size(); at < end; ++at)
    if (at % period >= inner && elements[at] != elements[at - inner])
      return true;
  return false;
}

static SmallVector<Attribute> takeFirst(ArrayRef<Attribute> elements,
                                        ArrayRef<int64_t> shape, int64_t dim) {
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(dim + 1))
    inner *= size;
  int64_t period = inner * shape[dim];
  SmallVector<Attribute> kept;
  for (int64_t at = 0, end = elements.size(); at < end; at += period)
    llvm::append_range(kept, elements.slice(at, inner));
  return kept;
}

DenseElementsAttr zc::compactElements(DenseElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (value.isSplat() || type.getNumElements() == 0)
    return value;
  SmallVector<int64_t> shape(type.getShape());
  auto elements = llvm::to_vector(value.getValues<Attribute>());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (shape[dim] == 1 || variesAlong(elements, shape, dim))
      continue;
    elements = takeFirst(elements, shape, dim);
    shape[dim] = 1;
  }
  return DenseElementsAttr::get(
      RankedTensorType::get(shape, type.getElementType()), elements);
}

// --- States ----------------------------------------------------------------

States::States(onnx::GraphOp graph, Block &body) : body(body) {
  for (onnx::NodeOp node : graph.getOps<onnx::NodeOp>()) {
    if (node.getOpType() != "BatchNormalization")
      continue;
    for (Value statistic : node.getInputs().drop_front(3))
      if (Operation *source = statistic.getDefiningOp())
        statistics.insert(source);
  }
  for (auto initializer : graph.getOps<onnx::InitializerOp>()) {
    if (isInline(initializer))
      continue;
    DenseElementsAttr compact;
    Type type = initializer.getResult().getType();
    auto value = dyn_cast_or_null<DenseElementsAttr>(
        initializer.getValue().value_or(nullptr));
    if (initializer.getFolded() && value) {
      compact = compactElements(value);
      type = compact.getType();
    }
    // Layer by layer, exporters write the same mask: the first one serves all.
    auto *same = llvm::find_if(states, [&](const Binding &state) {
      return compact && state.compact == compact;
    });
    BlockArgument argument =
        same != states.end()
            ? same->argument
            : body.insertArgument(states.size(), type, initializer.getLoc());
    arguments[initializer] = argument;
    if (same == states.end())
      states.push_back({initializer, argument, compact});
  }
}

StringRef States::getKind(onnx::InitializerOp initializer) const {
  if (statistics.contains(initializer))
    return train::kStatistic;
  return initializer.getTrained() ? train::kParameter : train::kConstant;
}

bool States::isInline(onnx::InitializerOp initializer) const {
  if (getKind(initializer) != train::kConstant)
    return false;
  auto value = dyn_cast_or_null<DenseElementsAttr>(
      initializer.getValue().value_or(nullptr));
  return value &&
         (value.isSplat() || value.getNumElements() <= kMaxInlineElements);
}

Value States::makeConstant(onnx::InitializerOp initializer) {
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  return train::ConstantOp::create(builder, initializer.getLoc(),
                                   *initializer.getValue());
}

// A compacted constant is expanded to the shape that the nodes know.
Value States::expand(onnx::InitializerOp initializer) {
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto type = cast<RankedTensorType>(initializer.getType());
  return train::broadcast(
      builder, initializer.getLoc(), arguments.lookup(initializer),
      type.getShape(), llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
}

Value States::get(onnx::InitializerOp initializer) {
  Value &value = values[initializer];
  if (!value)
    value = arguments.contains(initializer) ? expand(initializer)
                                            : makeConstant(initializer);
  return value;
}

LogicalResult States::define(func::FuncOp forward, Binding &binding) {
  onnx::InitializerOp initializer = binding.initializer;
  if (llvm::is_contained({train::kForwardProgram, train::kInitProgram,
                          train::kStepProgram, train::kEvalProgram},
                         initializer.getName()))
    return emitError(initializer.getLoc())
           << "initializer '" << initializer.getName()
           << "' has the name of one of zc's programs; rename it";
  OpBuilder builder(forward);
  DictionaryAttr source;
  if (onnx::ExternalAttr external = initializer.getSourceAttr())
    source = builder.getDictionaryAttr(
        {builder.getNamedAttr("file",
                              builder.getStringAttr(external.getFile())),
         builder.getNamedAttr("offset",
                              builder.getI64IntegerAttr(external.getOffset())),
         builder.getNamedAttr(
             "length", builder.getI64IntegerAttr(external.getLength()))});
  ElementsAttr value = binding.compact ? ElementsAttr(binding.compact)
                                       : initializer.getValueAttr();
  train::StateOp::create(
      builder, initializer.getLoc(), initializer.getNameAttr(),
      TypeAttr::get(binding.argument.getType()),
      builder.getStringAttr(getKind(initializer)), value, source,
      initializer.getAliasesAttr(), /*parameter=*/nullptr, /*slot=*/nullptr);
  forward.setArgAttr(binding.argument.getArgNumber(), train::kStateAttr,
                     FlatSymbolRefAttr::get(initializer.getNameAttr()));
  return success();
}

LogicalResult States::finish(func::FuncOp forward) {
  BitVector unused(forward.getNumArguments());
  for (const Binding &state : states)
    if (state.argument.use_empty())
      unused.set(state.argument.getArgNumber());
  llvm::erase_if(states, [&](const Binding &state) {
    return unused.test(state.argument.getArgNumber());
  });
  if (failed(forward.eraseArguments(unused)))
    llvm_unreachable("every argument of the program can be erased");
  for (Binding &state : states)
    if (failed(define(forward, state)))
      return failure();
  return success();
}
