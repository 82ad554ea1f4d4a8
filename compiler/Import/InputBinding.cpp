#include "compiler/Import/InputBinding.h"

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
    auto found = std::find_if(inputs->begin(), inputs->end(),
                              [&](const proto::ValueInfoProto &input) {
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
