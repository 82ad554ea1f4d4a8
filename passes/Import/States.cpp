//===- States.cpp - initializers become states or constants ---------------===//
//
// A tensor that is trained, updated or large lives in memory: it is a state. A
// small one that never changes is better off in the code, where it fuses.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/States.h"

#include "dialects/Onnx/Location.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/RolePrograms.h"
#include "llvm/Support/JSON.h"
#include <cstring>
#include <vector>

using namespace mlir;
using namespace zc;

// A constant of more elements, unless they are all equal, is a state.
static constexpr int64_t kMaxInlineElements = 16;

// --- Storing a constant once along dims where it does not vary -------------

namespace {
/// Elements as bytes, `width` each: a mask has millions, too many for one
/// attribute an element.
struct Elements {
  SmallVector<int64_t> shape;
  std::vector<char> bytes;
  size_t width;
};
} // namespace

static Elements readElements(DenseElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  Elements elements{SmallVector<int64_t>(type.getShape()), {}, 1};
  if (type.getElementType().isInteger(1)) {
    llvm::append_range(elements.bytes, value.getValues<bool>());
    return elements;
  }
  elements.width = type.getElementTypeBitWidth() / 8;
  llvm::append_range(elements.bytes, value.getRawData());
  return elements;
}

static DenseElementsAttr makeAttribute(const Elements &elements, Type element) {
  auto type = RankedTensorType::get(elements.shape, element);
  if (!element.isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, elements.bytes);
  SmallVector<bool> bools(elements.bytes.begin(), elements.bytes.end());
  return DenseElementsAttr::get(type, ArrayRef<bool>(bools));
}

// Bytes from one element to the next along `dim`.
static size_t bytesBetween(const Elements &elements, size_t dim) {
  size_t bytes = elements.width;
  for (int64_t size : ArrayRef(elements.shape).drop_front(dim + 1))
    bytes *= size;
  return bytes;
}

static bool variesAlong(const Elements &elements, size_t dim) {
  size_t inner = bytesBetween(elements, dim);
  size_t period = inner * elements.shape[dim];
  const char *bytes = elements.bytes.data();
  for (size_t at = 0; at < elements.bytes.size(); at += period)
    for (size_t next = at + inner; next < at + period; next += inner)
      if (std::memcmp(bytes + at, bytes + next, inner) != 0)
        return true;
  return false;
}

static void keepFirst(Elements &elements, size_t dim) {
  size_t inner = bytesBetween(elements, dim);
  size_t period = inner * elements.shape[dim];
  std::vector<char> kept;
  for (size_t at = 0; at < elements.bytes.size(); at += period)
    kept.insert(kept.end(), elements.bytes.begin() + at,
                elements.bytes.begin() + at + inner);
  elements.bytes = std::move(kept);
  elements.shape[dim] = 1;
}

DenseElementsAttr zc::compactElements(DenseElementsAttr value) {
  if (value.isSplat() || value.getNumElements() == 0)
    return value;
  Elements elements = readElements(value);
  for (size_t dim = 0; dim < elements.shape.size(); ++dim)
    if (elements.shape[dim] > 1 && !variesAlong(elements, dim))
      keepFirst(elements, dim);
  return makeAttribute(elements, value.getElementType());
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

train::StateKind States::getKind(onnx::InitializerOp initializer) const {
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

/// Names of a program's parts begin so while it is cut
/// (passes/Pipeline/CutProgram.cpp).
static constexpr llvm::StringLiteral kPartPrefix = "part";

// States are tensors of safetensors files under their names.
static LogicalResult checkName(onnx::InitializerOp initializer) {
  StringRef name = initializer.getName();
  if (name == "__metadata__" || !llvm::json::isUTF8(name))
    return emitError(initializer.getLoc())
           << "has a name that no tensor of a safetensors file may have; "
              "expected UTF-8, and not '__metadata__'";
  bool isProgram = llvm::is_contained(
      {train::kForwardProgram, train::kInitProgram, train::kStepProgram,
       train::kMicroProgram, train::kBackwardProgram, train::kApplyProgram,
       train::kCompressedProgram, train::kEvalProgram},
      name);
  // A role with several stages has programs such as "forward.0".
  auto [base, number] = name.rsplit('.');
  unsigned chunk;
  isProgram |= name == train::kWeightsProgram ||
               (!number.getAsInteger(10, chunk) &&
                llvm::is_contained(
                    {train::kForwardProgram, train::kBackwardProgram,
                     train::kWeightsProgram, train::kEvalProgram, kPartPrefix},
                    base));
  if (isProgram || name.starts_with("zc."))
    return emitError(initializer.getLoc())
           << "has a name that zc keeps for its programs, '" << name
           << "'; rename it";
  return success();
}

LogicalResult States::define(func::FuncOp forward, Binding &binding) {
  onnx::InitializerOp initializer = binding.initializer;
  if (failed(checkName(initializer)))
    return failure();
  OpBuilder builder(forward);
  DictionaryAttr source;
  if (onnx::ExternalAttr external = initializer.getSourceAttr()) {
    NamedAttrList entries;
    entries.set("file", builder.getStringAttr(external.getFile()));
    entries.set("offset", builder.getI64IntegerAttr(external.getOffset()));
    entries.set("length", builder.getI64IntegerAttr(external.getLength()));
    if (external.getTransposed())
      entries.set("transposed", builder.getUnitAttr());
    source = entries.getDictionary(builder.getContext());
  }
  ElementsAttr value = binding.compact ? ElementsAttr(binding.compact)
                                       : initializer.getValueAttr();
  auto state = train::StateOp::create(builder, initializer.getLoc(),
                                      TypeRange(), ValueRange());
  state.setSymNameAttr(initializer.getNameAttr());
  state.setTypeAttr(TypeAttr::get(binding.argument.getType()));
  state.setKind(getKind(initializer));
  state.setValueAttr(value);
  state.setSourceAttr(source);
  state.setAliasesAttr(initializer.getAliasesAttr());
  state.setDrawAttr(initializer.getDrawAttr());
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
