#include "compiler/OnnxModel/TestData.h"

#include "compiler/OnnxModel/Float8Type.h"
#include "compiler/OnnxModel/ModelFile.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include <fstream>

using namespace zc;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

static Expected<TestTensor> readTensor(const std::string &path,
                                       const proto::ValueInfoProto &value) {
  proto::TensorProto tensor;
  if (!llvm::sys::fs::is_regular_file(path)) // a pipe would keep us waiting
    return createStringError("'" + path + "' is not a regular file");
  std::ifstream stream(path, std::ios::binary);
  if (!value.type().has_tensor_type())
    return createStringError("'" + value.name() +
                             "' is no tensor, which zc does not hold");
  if (!stream || !tensor.ParseFromIstream(&stream))
    return createStringError("cannot read '" + path + "' as a tensor");
  Expected<std::string> bytes = readTensorBytes(ModelFile(), tensor);
  if (!bytes)
    return bytes.takeError();
  return TestTensor{value.name(),
                    path,
                    tensor.data_type(),
                    {tensor.dims().begin(), tensor.dims().end()},
                    std::move(*bytes)};
}

static void addDims(const proto::ValueInfoProto &value,
                    const TestTensor &tensor,
                    std::map<std::string, int64_t> &dims) {
  const auto &shape = value.type().tensor_type().shape();
  for (int i = 0; i < shape.dim_size() && i < int(tensor.dims.size()); ++i) {
    std::string symbol = shape.dim(i).dim_param();
    if (symbol.empty())
      symbol = value.name() + "." + std::to_string(i);
    if (!shape.dim(i).has_dim_value())
      dims[symbol] = tensor.dims[i];
  }
}

// Inputs that are initializers too are numbered, but have no file.
Expected<TestSet> zc::readTestSet(const std::string &model,
                                  const std::string &path) {
  Expected<ModelFile> file = readModelFile(model);
  if (!file)
    return file.takeError();
  const proto::GraphProto &graph = file->model.graph();
  llvm::StringSet<> initializers;
  for (const proto::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  TestSet set;
  auto read = [&](const auto &values, const std::string &kind,
                  std::vector<TestTensor> &tensors) -> Error {
    for (int i = 0; i < values.size(); ++i) {
      std::string name = path + "/" + kind + "_" + std::to_string(i) + ".pb";
      if (initializers.contains(values[i].name()) &&
          !llvm::sys::fs::exists(name))
        continue;
      Expected<TestTensor> tensor = readTensor(name, values[i]);
      if (!tensor)
        return tensor.takeError();
      tensors.push_back(std::move(*tensor));
      if (&tensors == &set.inputs)
        addDims(values[i], tensors.back(), set.dims);
    }
    return Error::success();
  };
  if (Error error = read(graph.input(), "input", set.inputs))
    return error;
  if (Error error = read(graph.output(), "output", set.outputs))
    return error;
  return set;
}

std::string zc::getNumpyType(int32_t dataType) {
  switch (dataType) {
  case proto::TensorProto::FLOAT:
    return "<f4";
  case proto::TensorProto::DOUBLE:
    return "<f8";
  case proto::TensorProto::FLOAT16:
    return "<f2";
  case proto::TensorProto::BOOL:
    return "|b1";
  case proto::TensorProto::INT8:
  case proto::TensorProto::INT4: // held one a byte
  case proto::TensorProto::INT2:
    return "|i1";
  case proto::TensorProto::INT16:
    return "<i2";
  case proto::TensorProto::INT32:
    return "<i4";
  case proto::TensorProto::INT64:
    return "<i8";
  case proto::TensorProto::UINT8:
  case proto::TensorProto::UINT4:
  case proto::TensorProto::UINT2:
    return "|u1";
  case proto::TensorProto::UINT16:
    return "<u2";
  case proto::TensorProto::UINT32:
    return "<u4";
  case proto::TensorProto::UINT64:
    return "<u8";
  default: // bits, one number a byte
    return isFloat8Type(dataType) ? "|u1" : "";
  }
}
