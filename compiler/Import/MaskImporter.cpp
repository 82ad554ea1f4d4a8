// Masks of attention that are added although they are bools.
//
// At opset 23 PyTorch 2.15 writes scaled dot product attention with dropout and
// a bool mask as MatMul, Add of the mask, Softmax: ONNX has no such Add. The
// importer takes it as PyTorch computes it: where the mask is false, the score
// is -infinity.
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/Types.h"

#include <limits>

using namespace mlir;
using namespace zc;

static int32_t getElementType(const ImportedValue &value) {
  return value.kind == ImportedValue::Tensor
             ? value.type.tensor_type().elem_type()
             : 0;
}

bool GraphImporter::importBoolMask(const proto::NodeProto &node,
                                   const Outputs &inputs, Scope &scope) {
  if (node.op_type() != "Add" || inputs.size() != 2)
    return false;
  int mask = getElementType(*inputs[0]) == proto::TensorProto::BOOL ? 0 : 1;
  int32_t scores = getElementType(*inputs[1 - mask]);
  if (getElementType(*inputs[mask]) != proto::TensorProto::BOOL ||
      !isFloatType(scores))
    return false;
  if (!warnedOfMask)
    mlir::emitWarning(getLocation(node, scope))
        << "adds a bool mask, as PyTorch's exporter writes attention with "
           "dropout at opset 23; zc takes false as minus infinity, as PyTorch "
           "does";
  warnedOfMask = true;
  HostTensor kept(scores, {}), dropped(scores, {});
  dropped.set(0, -std::numeric_limits<double>::infinity());
  std::string name = node.output(0) + ".mask";
  define(name + ".kept", makeConstant(name + ".kept", std::move(kept)), scope);
  define(name + ".dropped", makeConstant(name + ".dropped", std::move(dropped)),
         scope);
  proto::NodeProto where = node, add = node;
  where.set_op_type("Where");
  where.clear_input();
  where.clear_output();
  for (const std::string &input :
       {node.input(mask), name + ".kept", name + ".dropped"})
    where.add_input(input);
  where.add_output(name);
  importNode(where, scope);
  add.set_input(mask, name);
  importNode(add, scope);
  return true;
}
