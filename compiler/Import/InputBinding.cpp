#include "compiler/Import/InputBinding.h"

#include "compiler/Import/HostTensor.h"
#include "compiler/Import/Types.h"
#include "compiler/OnnxModel/ModelFile.h"

#include "llvm/ADT/STLExtras.h"

#include <fstream>

using namespace zc;

llvm::Error zc::bindInputs(proto::GraphProto &graph,
                           const std::map<std::string, std::string> &files) {
  for (const auto &[name, path] : files) {
    std::ifstream stream(path, std::ios::binary);
    proto::TensorProto tensor;
    if (!stream || !tensor.ParseFromIstream(&stream))
      return llvm::createStringError("cannot read '" + path + "' as a tensor");
    auto *inputs = graph.mutable_input();
    auto found =
        std::find_if(inputs->begin(), inputs->end(),
                     [&name = name](const proto::ValueInfoProto &input) {
                       return input.name() == name;
                     });
    if (found == inputs->end())
      return llvm::createStringError("no input is named '" + name + "'");
    inputs->erase(found);
    tensor.set_name(name);
    *graph.add_initializer() = std::move(tensor);
  }
  return llvm::Error::success();
}

static llvm::Expected<proto::TensorProto>
makeNumber(const proto::ValueInfoProto &input, double value) {
  std::optional<Dims> dims = getStaticDims(input.type());
  int32_t type = input.type().tensor_type().elem_type();
  if (!dims || getNumElements(*dims) != 1 || getElementBytes(type) == 0)
    return llvm::createStringError(
        "input '" + input.name() + "' is " + printType(input.type()) +
        ", expected one element of a number or bool");
  HostTensor number(type, *dims);
  if (number.isFloat())
    number.set(0, value);
  else
    number.set(0, int64_t(value));
  if (!number.isFloat() && number.getFloat(0) != value)
    return llvm::createStringError("input '" + input.name() + "' is " +
                                   printType(input.type()) +
                                   ", which does not hold that number");
  proto::TensorProto tensor = makeTensor(number);
  tensor.set_name(input.name());
  return tensor;
}

llvm::Error zc::bindInputValues(proto::GraphProto &graph,
                                const std::map<std::string, double> &values) {
  for (const auto &[name, value] : values) {
    auto *inputs = graph.mutable_input();
    auto found = llvm::find_if(*inputs, [&name = name](const auto &input) {
      return input.name() == name;
    });
    if (found == inputs->end())
      return llvm::createStringError("no input is named '" + name + "'");
    llvm::Expected<proto::TensorProto> tensor = makeNumber(*found, value);
    if (!tensor)
      return tensor.takeError();
    inputs->erase(found);
    *graph.add_initializer() = std::move(*tensor);
  }
  return llvm::Error::success();
}

static bool hasNoElements(const proto::ValueInfoProto &input) {
  const auto &dims = input.type().tensor_type().shape().dim();
  return input.type().has_tensor_type() &&
         llvm::any_of(dims, [](const auto &dim) {
           return dim.has_dim_value() && dim.dim_value() == 0;
         });
}

void zc::bindEmptyInputs(proto::GraphProto &graph) {
  auto *inputs = graph.mutable_input();
  for (auto input = inputs->begin(); input != inputs->end();) {
    if (!hasNoElements(*input)) {
      ++input;
      continue;
    }
    proto::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(input->name());
    tensor.set_data_type(input->type().tensor_type().elem_type());
    for (const auto &dim : input->type().tensor_type().shape().dim())
      tensor.add_dims(dim.dim_value());
    input = inputs->erase(input);
  }
}
