#include "compiler/Import/DimBinding.h"
#include "compiler/Import/Import.h"
#include "compiler/OnnxModel/ModelFile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace zc;

// A name, and where it stands first: "dim 0 of input 'x'".
using Symbols =
    llvm::MapVector<std::string, std::string, std::map<std::string, unsigned>>;

static std::string getPlace(const proto::ValueInfoProto &input, int index) {
  return input.name() + "." + std::to_string(index);
}

// A dim without a name is called after its input.
static std::string getSymbol(const proto::ValueInfoProto &input, int index) {
  std::string symbol =
      input.type().tensor_type().shape().dim(index).dim_param();
  return symbol.empty() ? getPlace(input, index) : symbol;
}

// Exporters also write -1 for a dim of any size.
static bool hasSize(const proto::TensorShapeProto::Dimension &dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

std::map<std::string, int64_t>
zc::readDims(const std::string &path,
             const std::map<std::string, std::vector<int64_t>> &shapes,
             int64_t maxBatch) {
  std::map<std::string, int64_t> sizes;
  llvm::Expected<ModelFile> file = readModelFile(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return sizes;
  }
  for (const proto::ValueInfoProto &input : file->model.graph().input()) {
    auto given = shapes.find(input.name());
    if (given == shapes.end() || !input.type().has_tensor_type())
      continue;
    const auto &shape = input.type().tensor_type().shape();
    int rank = std::min<int>(shape.dim_size(), given->second.size());
    for (int i = 0; i < rank; ++i) {
      int64_t size = given->second[i];
      if (!hasSize(shape.dim(i)) && size > 0)
        sizes.insert(
            {getSymbol(input, i), i == 0 ? std::min(size, maxBatch) : size});
    }
  }
  return sizes;
}

static void bindInput(proto::ValueInfoProto &input,
                      const std::map<std::string, int64_t> &sizes,
                      Symbols &all) {
  if (!input.type().has_tensor_type())
    return;
  auto *shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < shape->dim_size(); ++i) {
    auto *dim = shape->mutable_dim(i);
    if (hasSize(*dim))
      continue;
    std::string symbol = getSymbol(input, i);
    all.insert({symbol, "dim " + std::to_string(i) + " of input '" +
                            input.name() + "'"});
    auto size = sizes.find(symbol);
    if (size != sizes.end())
      dim->set_dim_value(size->second);
  }
}

// A dim that has a name is bound by its place too, with all of that name.
static llvm::Error bindByPlace(const proto::ValueInfoProto &input,
                               std::map<std::string, int64_t> &sizes) {
  const auto &shape = input.type().tensor_type().shape();
  for (int i = 0; i < shape.dim_size(); ++i) {
    auto size = sizes.find(getPlace(input, i));
    std::string symbol = getSymbol(input, i);
    if (size == sizes.end() || hasSize(shape.dim(i)) || symbol == size->first)
      continue;
    auto [known, isNew] = sizes.insert({symbol, size->second});
    if (!isNew && known->second != size->second)
      return llvm::createStringError("--dim gives '" + symbol + "' " +
                                     std::to_string(known->second) + ", and " +
                                     size->first + ", which has that name, " +
                                     std::to_string(size->second));
    sizes.erase(size);
  }
  return llvm::Error::success();
}

bool zc::namesLength(const proto::GraphProto &graph, const std::string &output,
                     int64_t dim, const std::string &name) {
  if (name == output + "." + std::to_string(dim))
    return true;
  for (const auto *values : {&graph.value_info(), &graph.output()})
    for (const proto::ValueInfoProto &value : *values) {
      const auto &shape = value.type().tensor_type().shape();
      if (value.name() == output && dim < shape.dim_size() &&
          shape.dim(dim).dim_param() == name)
        return true;
    }
  return false;
}

// The lengths of selections are no dims of inputs.
static bool isLength(const proto::GraphProto &graph, const std::string &name) {
  for (const proto::NodeProto &node : graph.node()) {
    llvm::StringRef op = node.op_type();
    if (op != "NonZero" && op != "Compress" && op != "Unique")
      continue;
    for (const std::string &output : node.output())
      for (int64_t dim = 0; dim < 8; ++dim)
        if (namesLength(graph, output, dim, name))
          return true;
  }
  return false;
}

llvm::Error zc::bindDims(proto::GraphProto &graph,
                         std::map<std::string, int64_t> sizes) {
  std::set<std::string> initializers;
  for (const proto::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  for (const proto::ValueInfoProto &input : graph.input())
    if (!initializers.count(input.name()))
      if (llvm::Error error = bindByPlace(input, sizes))
        return error;
  Symbols symbols;
  for (proto::ValueInfoProto &input : *graph.mutable_input())
    if (!initializers.count(input.name()))
      bindInput(input, sizes, symbols);

  std::vector<std::string> unbound, toType, unknown, known;
  for (const auto &[symbol, place] : symbols) {
    known.push_back("'" + symbol + "'");
    if (sizes.count(symbol))
      continue;
    unbound.push_back("'" + symbol + "' (" + place + ")");
    toType.push_back("--dim " + symbol + "=SIZE");
  }
  for (const auto &[symbol, size] : sizes)
    if (!symbols.count(symbol) && !isLength(graph, symbol))
      unknown.push_back("'" + symbol + "'");
  if (!unknown.empty())
    return llvm::createStringError(
        "no input has a dim named " + llvm::join(unknown, ", ") +
        (known.empty() ? "; all dims have sizes"
                       : "; the symbolic dims are " + llvm::join(known, ", ")));
  if (!unbound.empty())
    return llvm::createStringError(
        "dims without a size: " + llvm::join(unbound, ", ") +
        "; give them with " + llvm::join(toType, " "));
  return llvm::Error::success();
}
