// Values behind which no gradient flows: where the file tells of PyTorch's
// detach(), and where the user says so. ONNX itself cannot.
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/OperatorRoles.h"
#include "compiler/Import/Types.h"
#include "dialects/Onnx/Location.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc;

bool GraphImporter::stopsGradient(const std::string &name) {
  bool stops =
      options.stopsGradient && !name.empty() && options.stopsGradient(name);
  foundGradientStop |= stops;
  return stops;
}

// Nodes that use `name` from here on use a value of zc's own operator.
void GraphImporter::stopGradient(const std::string &name, Scope &scope) {
  ImportedValue *value = lookUp(name, scope);
  if (value->kind != ImportedValue::Tensor || value->foldable ||
      !isFloatType(value->type.tensor_type().elem_type()))
    return;
  Value operand = getIr(value);
  auto maker = operand.getDefiningOp<zc::onnx::NodeOp>();
  if (maker && maker.getOpType() == kStopGradient)
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  Location location = zc::onnx::makeLocation(
      context, {value->name, scope.module, kStopGradient, file.name});
  auto op = zc::onnx::NodeOp::create(
      builder, location, operand.getType(),
      builder.getStringAttr(kStopGradient), operand, builder.getStringAttr(""),
      builder.getI64IntegerAttr(1), builder.getDictionaryAttr({}));
  ImportedValue *stopped = makeValue(ImportedValue::Tensor, value->name);
  stopped->type = value->type;
  stopped->ir = op.getResult(0);
  define(name, stopped, scope);
}

void GraphImporter::stopGradients(const proto::NodeProto &node, Scope &scope) {
  bool all = isDetached(node) || (!node.name().empty() &&
                                  stopsGradient(scope.prefix + node.name()));
  for (const std::string &output : node.output())
    if (!output.empty() && (all || stopsGradient(scope.prefix + output)))
      stopGradient(output, scope);
}

void GraphImporter::stopGradientsOfInitializers(Scope &scope) {
  for (const proto::TensorProto &tensor : file.model.graph().initializer())
    if (stopsGradient(tensor.name()))
      stopGradient(tensor.name(), scope);
}

void GraphImporter::checkGradientStops() {
  if (options.stopsGradient && !foundGradientStop)
    emitFailure(getFileLocation())
        << "--stop-gradient matches the name of no node and of no value";
}
