#include "compiler/Import/Contrib/ContribCall.h"

#include "compiler/Import/Types.h"

#include "onnx/defs/tensor_proto_util.h"
#include <numeric>

using namespace zc;

// Bodies are of operators as they are in this version.
constexpr int64_t kBodyOpset = 23;

ContribCall::ContribCall(const proto::NodeProto &node,
                         std::vector<const proto::TypeProto *> types)
    : node(node), types(std::move(types)) {
  body.set_name(node.op_type());
  proto::OperatorSetIdProto *opset = body.add_opset_import();
  opset->set_domain("");
  opset->set_version(kBodyOpset);
  for (size_t i = 0; i < this->types.size(); ++i)
    body.add_input("operand" + std::to_string(i));
  for (int i = 0; i < node.output_size(); ++i)
    body.add_output("result" + std::to_string(i));
}

// --- The call
// -------------------------------------------------------------------

std::string ContribCall::operand(unsigned index) const {
  return index < types.size() && types[index]
             ? "operand" + std::to_string(index)
             : "";
}

Dims ContribCall::dims(unsigned index) const {
  return has(index) ? *getStaticDims(*types[index]) : Dims();
}

int32_t ContribCall::elementType(unsigned index) const {
  return types[index]->tensor_type().elem_type();
}

const proto::AttributeProto *ContribCall::find(llvm::StringRef name) const {
  for (const proto::AttributeProto &each : node.attribute())
    if (each.name() == name)
      return &each;
  return nullptr;
}

int64_t ContribCall::getInt(llvm::StringRef name, int64_t otherwise) const {
  const proto::AttributeProto *found = find(name);
  return found ? found->i() : otherwise;
}

double ContribCall::getFloat(llvm::StringRef name, double otherwise) const {
  const proto::AttributeProto *found = find(name);
  return found ? found->f() : otherwise;
}

std::string ContribCall::getString(llvm::StringRef name) const {
  const proto::AttributeProto *found = find(name);
  return found ? found->s() : "";
}

std::vector<int64_t> ContribCall::getInts(llvm::StringRef name) const {
  const proto::AttributeProto *found = find(name);
  return found
             ? std::vector<int64_t>(found->ints().begin(), found->ints().end())
             : std::vector<int64_t>();
}

std::vector<double> ContribCall::getFloats(llvm::StringRef name) const {
  const proto::AttributeProto *found = find(name);
  return found ? std::vector<double>(found->floats().begin(),
                                     found->floats().end())
               : std::vector<double>();
}

bool ContribCall::wants(unsigned output) const {
  return int(output) < node.output_size() && !node.output(output).empty();
}

// --- The body
// -------------------------------------------------------------------

ContribCall::Names ContribCall::addMany(const char *op, Names inputs,
                                        Attributes attributes,
                                        unsigned outputs) {
  proto::NodeProto &made = *body.add_node();
  made.set_op_type(op);
  for (std::string &input : inputs)
    made.add_input(std::move(input));
  for (proto::AttributeProto &each : attributes)
    *made.add_attribute() = std::move(each);
  Names names;
  for (unsigned i = 0; i < outputs; ++i) {
    names.push_back("v" + std::to_string(values++));
    made.add_output(names.back());
  }
  made.set_name(names.front());
  return names;
}

std::string ContribCall::add(const char *op, Names inputs,
                             Attributes attributes) {
  return addMany(op, std::move(inputs), std::move(attributes), 1).front();
}

std::string ContribCall::ints(std::vector<int64_t> values) {
  return add("Constant", {}, {attribute("value_ints", std::move(values))});
}

std::string ContribCall::number(double value, const std::string &like) {
  return add(
      "CastLike",
      {add("Constant", {}, {attribute("value_float", float(value))}), like});
}

std::string ContribCall::reshape(const std::string &value, Dims dims) {
  return add("Reshape",
             {value, ints(std::vector<int64_t>(dims.begin(), dims.end()))});
}

std::string ContribCall::transpose(const std::string &value,
                                   std::vector<int64_t> order) {
  return add("Transpose", {value}, {attribute("perm", std::move(order))});
}

std::string ContribCall::slice(const std::string &value, int64_t axis,
                               int64_t begin, int64_t end) {
  return add("Slice", {value, ints({begin}), ints({end}), ints({axis})});
}

ContribCall::Names ContribCall::split(const std::string &value, int64_t axis,
                                      std::vector<int64_t> sizes) {
  unsigned count = sizes.size();
  return addMany("Split", {value, ints(std::move(sizes))},
                 {attribute("axis", axis)}, count);
}

std::string ContribCall::cast(const std::string &value, int32_t type) {
  return add("Cast", {value}, {attribute("to", int64_t(type))});
}

std::string ContribCall::iota(int64_t count) {
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return ints(std::move(values));
}

void ContribCall::give(unsigned output, const std::string &value) {
  if (int(output) >= body.output_size())
    return;
  body.set_output(output, value);
}
