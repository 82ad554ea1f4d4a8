#include "dialects/Onnx/OnnxDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace zc::onnx;

// Initializer names are printed as symbols: @"fc1.weight".
static ParseResult parseInitializerName(OpAsmParser &parser, StringAttr &name) {
  return parser.parseSymbolName(name);
}

static void printInitializerName(OpAsmPrinter &printer, Operation *,
                                 StringAttr name) {
  printer.printSymbolName(name.getValue());
}

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.cpp.inc"

uint64_t zc::onnx::getStoredBytes(ShapedType type) {
  uint64_t bits = type.getElementType().getIntOrFloatBitWidth();
  return type.getNumElements() * ((bits + 7) / 8);
}

// --- onnx.graph
// ----------------------------------------------------------------

ReturnOp GraphOp::getReturn() {
  return cast<ReturnOp>(getBody().front().getTerminator());
}

StringRef GraphOp::getInputName(unsigned index) {
  return cast<StringAttr>(getInputNames()[index]).getValue();
}

StringRef GraphOp::getOutputName(unsigned index) {
  return cast<StringAttr>(getOutputNames()[index]).getValue();
}

// Arguments read as the author named them, as far as MLIR's syntax lets them.
void GraphOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (auto [argument, name] :
       llvm::zip(region.getArguments(), getInputNames()))
    if (auto string = dyn_cast<StringAttr>(name))
      setName(argument, string.getValue());
}

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> resultTypes;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalArrowTypeList(resultTypes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("result_types",
                      parser.getBuilder().getTypeArrayAttr(resultTypes));
  return parser.parseRegion(*result.addRegion(), arguments);
}

void GraphOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      getBody().getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ')';
  printer.printArrowTypeList(getResultTypes().getAsValueRange<TypeAttr>());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"sym_name", "result_types"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

static LogicalResult verifyBatchDims(GraphOp graph, StringRef what,
                                     std::optional<ArrayRef<int64_t>> dims,
                                     TypeRange types) {
  if (!dims)
    return success();
  if (dims->size() != types.size())
    return graph.emitOpError() << "has " << types.size() << ' ' << what
                               << "s but " << dims->size() << " batch dims";
  for (auto [index, pair] : llvm::enumerate(llvm::zip(*dims, types))) {
    auto [dim, type] = pair;
    auto shaped = dyn_cast<ShapedType>(type);
    if (dim < -1 || !shaped || dim >= shaped.getRank())
      return graph.emitOpError() << "batch dim " << dim << " of " << what << ' '
                                 << index << " is no dim of " << type;
  }
  return success();
}

static LogicalResult verifyResults(GraphOp graph) {
  auto outputs = graph.getReturn().getOutputs();
  auto types =
      llvm::to_vector(graph.getResultTypes().getAsValueRange<TypeAttr>());
  if (outputs.size() != types.size() ||
      graph.getOutputNames().size() != types.size())
    return graph.emitOpError()
           << "declares " << types.size() << " results, names "
           << graph.getOutputNames().size() << " and returns "
           << outputs.size();
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(outputs.getTypes(), types)))
    if (std::get<0>(pair) != std::get<1>(pair))
      return graph.emitOpError()
             << "declares result " << index << " as " << std::get<1>(pair)
             << " but returns " << std::get<0>(pair);
  return success();
}

LogicalResult GraphOp::verify() {
  Block &block = getBody().front();
  // graph C1
  if (getInputNames().size() != block.getNumArguments())
    return emitOpError() << "has " << block.getNumArguments() << " inputs but "
                         << getInputNames().size() << " input names";
  llvm::StringSet<> inputs;
  for (StringAttr name : getInputNames().getAsRange<StringAttr>())
    if (!inputs.insert(name.getValue()).second)
      return emitOpError() << "has two inputs named '" << name.getValue()
                           << "'";
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError() << "must end in onnx.return";
  // graph C2
  if (failed(verifyResults(*this)))
    return failure();
  // graph C3
  auto results = llvm::to_vector(getResultTypes().getAsValueRange<TypeAttr>());
  if (failed(verifyBatchDims(*this, "input", getBatchDims(),
                             block.getArgumentTypes())) ||
      failed(verifyBatchDims(*this, "output", getOutputBatchDims(), results)))
    return failure();
  // graph C4
  llvm::StringSet<> initializers;
  for (InitializerOp initializer : block.getOps<InitializerOp>())
    if (!initializers.insert(initializer.getName()).second)
      return initializer.emitOpError() << "is defined twice";
  return success();
}

// --- onnx.node
// -----------------------------------------------------------------

LogicalResult NodeOp::verify() {
  // node C1
  for (NamedAttribute attribute : (*this)->getDiscardableAttrs())
    return emitOpError() << "has the unknown attribute '"
                         << attribute.getName().getValue()
                         << "'; the operator's own go into node_attributes";
  return success();
}

bool NodeOp::hasInput(unsigned index) {
  return index < getInputs().size() &&
         !isa<NoneType>(getInputs()[index].getType());
}

Value NodeOp::getOptionalInput(unsigned index) {
  return hasInput(index) ? Value(getInputs()[index]) : Value();
}

bool NodeOp::isOutputUsed(unsigned index) {
  return index < getNumResults() && !getResult(index).use_empty();
}

int64_t NodeOp::getInt(StringRef name, int64_t absent) {
  auto value = getNodeAttributes().getAs<IntegerAttr>(name);
  return value ? value.getInt() : absent;
}

double NodeOp::getFloat(StringRef name, double absent) {
  auto value = getNodeAttributes().getAs<FloatAttr>(name);
  return value ? value.getValueAsDouble() : absent;
}

StringRef NodeOp::getString(StringRef name, StringRef absent) {
  auto value = getNodeAttributes().getAs<StringAttr>(name);
  return value ? value.getValue() : absent;
}

std::optional<ArrayRef<int64_t>> NodeOp::getInts(StringRef name) {
  if (auto value = getNodeAttributes().getAs<DenseI64ArrayAttr>(name))
    return value.asArrayRef();
  return std::nullopt;
}

DenseElementsAttr NodeOp::getTensor(StringRef name) {
  return getNodeAttributes().getAs<DenseElementsAttr>(name);
}

bool NodeOp::hasAttribute(StringRef name) {
  return getNodeAttributes().contains(name);
}

// --- onnx.initializer
// ----------------------------------------------------------

LogicalResult InitializerOp::verify() {
  auto type = cast<ShapedType>(getResult().getType());
  // initializer C1
  if (getValue() && getSource())
    return emitOpError() << "has both a value and a source";
  if (getDraw() && (getValue() || getSource()))
    return emitOpError() << "has data and draws other";
  if (getValue() && getValue()->getShapedType() != type)
    return emitOpError() << "has a value of type "
                         << getValue()->getShapedType() << " but is " << type;
  if (getSource() && getSource()->getLength() != getStoredBytes(type))
    return emitOpError() << "takes " << getStoredBytes(type)
                         << " bytes but its source has "
                         << getSource()->getLength();
  // initializer C2
  if (getTrained() && !isa<FloatType>(type.getElementType()))
    return emitOpError()
           << "of type " << type
           << " cannot be trained; only floating-point tensors can";
  return success();
}
