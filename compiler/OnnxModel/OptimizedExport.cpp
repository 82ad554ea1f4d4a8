#include "compiler/OnnxModel/OptimizedExport.h"

#include "compiler/OnnxModel/ExternalData.h"
#include "compiler/OnnxModel/PythonList.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace zc;
using llvm::Error;
using llvm::Expected;

constexpr llvm::StringLiteral kFoldedFrom =
    "pkg.onnxscript.optimizer.folded_from";
constexpr llvm::StringLiteral kRewritten = "pkg.onnxscript.rewriter.rule_name";

template <typename Message>
static const std::string *findProperty(const Message &message,
                                       llvm::StringRef key) {
  for (const proto::StringStringEntryProto &entry : message.metadata_props())
    if (entry.key() == key)
      return &entry.value();
  return nullptr;
}

bool zc::isOptimizedExport(const proto::GraphProto &graph) {
  auto isFolded = [](const auto &value) {
    return findProperty(value, kFoldedFrom);
  };
  return llvm::any_of(graph.value_info(), isFolded) ||
         llvm::any_of(graph.initializer(), isFolded) ||
         llvm::any_of(graph.node(), [](const proto::NodeProto &node) {
           return findProperty(node, kRewritten);
         });
}

namespace {
class Restorer {
public:
  explicit Restorer(ModelFile &file)
      : file(file), graph(*file.model.mutable_graph()) {}

  Error run();

private:
  void readOrigins();
  void readNames();
  Error restore(proto::TensorProto &tensor, const std::string &author);
  Expected<bool> isCopy(const proto::TensorProto &copy,
                        const proto::TensorProto &original, bool transposed);
  Error tie(const proto::TensorProto &copy, const proto::TensorProto &original);
  Error rename(proto::TensorProto &tensor, const std::string &author);
  void addNode(const char *op, const std::string &from, const std::string &to);
  void insertNodes();

  ModelFile &file;
  proto::GraphProto &graph;
  llvm::StringMap<std::string> origins; // of values: the author's one name
  llvm::StringSet<> taken;              // names of other values
  llvm::StringMap<proto::TensorProto *> initializers;
  llvm::StringSet<> dropped;
  std::vector<proto::NodeProto> nodes;
};
} // namespace

// Only what was made of one tensor alone is that tensor in other words.
void Restorer::readOrigins() {
  auto read = [&](const auto &value) {
    if (const std::string *text = findProperty(value, kFoldedFrom)) {
      std::vector<std::string> names = parsePythonList(*text);
      if (names.size() == 1 && !names[0].empty() && names[0] != value.name())
        origins[value.name()] = names[0];
    }
  };
  for (const proto::ValueInfoProto &value : graph.value_info())
    read(value);
  for (const proto::TensorProto &tensor : graph.initializer())
    read(tensor);
}

void Restorer::readNames() {
  for (const proto::ValueInfoProto &input : graph.input())
    taken.insert(input.name());
  for (const proto::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      taken.insert(output);
  for (proto::TensorProto &tensor : *graph.mutable_initializer())
    initializers[tensor.name()] = &tensor;
}

static std::vector<int64_t> getDims(const proto::TensorProto &tensor) {
  return {tensor.dims().begin(), tensor.dims().end()};
}

Expected<bool> Restorer::isCopy(const proto::TensorProto &copy,
                                const proto::TensorProto &original,
                                bool transposed) {
  std::vector<int64_t> dims = getDims(original);
  if (transposed)
    std::reverse(dims.begin(), dims.end());
  if (copy.data_type() != original.data_type() || getDims(copy) != dims)
    return false;
  if (isAbsent(copy) && isAbsent(original))
    return true;
  if (isAbsent(copy) || isAbsent(original))
    return false;
  Expected<std::string> left = readTensorBytes(file, copy);
  if (!left)
    return left.takeError();
  Expected<std::string> right = readTensorBytes(file, original);
  if (!right)
    return right.takeError();
  if (transposed)
    left =
        transposeBytes(*left, copy.dims(0), getElementBytes(copy.data_type()));
  return *left == *right;
}

void Restorer::addNode(const char *op, const std::string &from,
                       const std::string &to) {
  proto::NodeProto &node = nodes.emplace_back();
  node.set_op_type(op);
  node.set_name(to + "/" + op);
  node.add_input(from);
  node.add_output(to);
}

Error Restorer::tie(const proto::TensorProto &copy,
                    const proto::TensorProto &original) {
  for (bool transposed : {true, false}) {
    Expected<bool> equal = isCopy(copy, original, transposed);
    if (!equal)
      return equal.takeError();
    if (!*equal)
      continue;
    addNode(transposed ? "Transpose" : "Identity", original.name(),
            copy.name());
    dropped.insert(copy.name());
    break;
  }
  return Error::success();
}

Error Restorer::rename(proto::TensorProto &tensor, const std::string &author) {
  addNode("Transpose", author, tensor.name());
  int64_t rows = tensor.dims(0), columns = tensor.dims(1);
  if (getSource(file, tensor)) {
    markTransposed(tensor);
  } else if (!isAbsent(tensor)) {
    Expected<std::string> bytes = readTensorBytes(file, tensor);
    if (!bytes)
      return bytes.takeError();
    tensor.clear_float_data();
    tensor.clear_double_data();
    tensor.clear_int32_data();
    tensor.set_raw_data(
        transposeBytes(*bytes, rows, getElementBytes(tensor.data_type())));
  }
  tensor.set_name(author);
  tensor.set_dims(0, columns);
  tensor.set_dims(1, rows);
  initializers[author] = &tensor;
  return Error::success();
}

Error Restorer::restore(proto::TensorProto &tensor, const std::string &author) {
  bool isMatrix = tensor.dims_size() == 2 && isFloatType(tensor.data_type());
  if (!isMatrix || taken.contains(author) || taken.contains(tensor.name()))
    return Error::success();
  auto original = initializers.find(author);
  if (original != initializers.end())
    return tie(tensor, *original->second);
  return rename(tensor, author);
}

// In front of all others, and without the initializers that they compute.
void Restorer::insertNodes() {
  for (const proto::NodeProto &node : graph.node())
    nodes.push_back(node);
  graph.clear_node();
  for (proto::NodeProto &node : nodes)
    *graph.add_node() = std::move(node);
  auto *tensors = graph.mutable_initializer();
  tensors->erase(std::remove_if(tensors->begin(), tensors->end(),
                                [&](const proto::TensorProto &tensor) {
                                  return dropped.contains(tensor.name());
                                }),
                 tensors->end());
}

Error Restorer::run() {
  readOrigins();
  if (origins.empty())
    return Error::success();
  readNames();
  for (proto::TensorProto &tensor : *graph.mutable_initializer()) {
    auto origin = origins.find(tensor.name());
    if (origin != origins.end())
      if (Error error = restore(tensor, origin->second))
        return error;
  }
  if (!nodes.empty())
    insertNodes();
  return Error::success();
}

Error zc::restoreWeights(ModelFile &file) { return Restorer(file).run(); }
