// Compress by a condition that is known is a Gather; optional values are there
// or are not.
#include "compiler/Import/ConstantFolder.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/Types.h"

using namespace mlir;
using namespace zc;

// Counts the elements of the whole tensor where there is no axis.
bool GraphImporter::importCompress(const proto::NodeProto &node,
                                   const Outputs &inputs, Scope &scope) {
  if (inputs.size() != 2 || !inputs[1]->constant || !inputs[1]->foldable)
    return false;
  FoldRequest request{node, {}, 0};
  bool hasAxis = request.getAttribute("axis");
  const std::string &name = node.output(0);
  std::vector<int64_t> chosen;
  std::vector<int64_t> condition = inputs[1]->constant->getInts();
  for (size_t i = 0; i < condition.size(); ++i)
    if (condition[i])
      chosen.push_back(i);
  proto::NodeProto take;
  take.set_op_type("Gather");
  take.set_name(node.name());
  take.add_input(node.input(0));
  if (!hasAxis) {
    proto::NodeProto flat;
    flat.set_op_type("Reshape");
    flat.set_name(node.name());
    flat.add_input(node.input(0));
    flat.add_input(name + ".length");
    flat.add_output(name + ".flat");
    define(name + ".length",
           makeConstant(name + ".length", HostTensor::ofInts({-1})), scope);
    importNode(flat, scope);
    take.set_input(0, name + ".flat");
  }
  define(name + ".places",
         makeConstant(name + ".places", HostTensor::ofInts(chosen)), scope);
  take.add_input(name + ".places");
  take.add_output(name);
  proto::AttributeProto *axis = take.add_attribute();
  axis->set_name("axis");
  axis->set_type(proto::AttributeProto::INT);
  axis->set_i(request.getInt("axis", 0));
  importNode(take, scope);
  return true;
}

bool GraphImporter::importSelection(const proto::NodeProto &node,
                                    const Outputs &inputs, Scope &scope) {
  if (!node.domain().empty())
    return false;
  StringRef op = node.op_type();
  if (op == "Compress")
    return importCompress(node, inputs, scope);
  bool isThere = !inputs.empty() && inputs[0]->kind != ImportedValue::Absent;
  if (op == "OptionalGetElement" && isThere) {
    define(node.output(0), inputs[0], scope);
    return true;
  }
  if (op != "OptionalHasElement")
    return false;
  HostTensor answer(proto::TensorProto::BOOL, {});
  answer.ints[0] = isThere;
  define(node.output(0), makeConstant(scope.prefix + node.output(0), answer),
         scope);
  return true;
}
