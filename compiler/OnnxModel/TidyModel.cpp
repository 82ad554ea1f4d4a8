#include "compiler/OnnxModel/TidyModel.h"

#include "compiler/OnnxModel/ExternalData.h"

#include "onnx/shape_inference/implementation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <cstring>
#include <set>

using namespace zc;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

// --- Order
// ----------------------------------------------------------------------

// Also those that branches and bodies use from around them.
static void addInputs(const proto::NodeProto &node,
                      std::vector<std::string> &names) {
  names.insert(names.end(), node.input().begin(), node.input().end());
  for (const proto::AttributeProto &attribute : node.attribute()) {
    if (!attribute.has_g())
      continue;
    for (const proto::NodeProto &inner : attribute.g().node())
      addInputs(inner, names);
    for (const proto::ValueInfoProto &output : attribute.g().output())
      names.push_back(output.name());
  }
}

namespace {
class Sorter {
public:
  explicit Sorter(proto::GraphProto &graph) : graph(graph) {}

  /// False for a graph that is sorted.
  bool readNeeds();
  std::vector<proto::NodeProto *> run();

private:
  proto::GraphProto &graph;
  std::vector<std::vector<int>> users; // of each node's results
  std::vector<unsigned> needs;         // how many nodes each waits for
};
} // namespace

bool Sorter::readNeeds() {
  llvm::StringMap<int> makers;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &output : graph.node(i).output())
      if (!output.empty())
        makers[output] = i;
  users.resize(graph.node_size());
  needs.resize(graph.node_size());
  bool unsorted = false;
  for (int i = 0; i < graph.node_size(); ++i) {
    std::vector<std::string> inputs;
    addInputs(graph.node(i), inputs);
    std::set<int> before;
    for (const std::string &input : inputs)
      if (auto maker = makers.find(input);
          maker != makers.end() && maker->second != i)
        before.insert(maker->second);
    for (int maker : before)
      users[maker].push_back(i);
    needs[i] = before.size();
    unsorted |= !before.empty() && *before.rbegin() > i;
  }
  return unsorted;
}

// Sorts topologically; of the ready nodes, takes the first in the file.
std::vector<proto::NodeProto *> Sorter::run() {
  std::vector<proto::NodeProto *> sorted;
  std::set<int> ready;
  for (int i = 0; i < graph.node_size(); ++i)
    if (needs[i] == 0)
      ready.insert(i);
  while (!ready.empty()) {
    int next = *ready.begin();
    ready.erase(ready.begin());
    sorted.push_back(graph.mutable_node(next));
    for (int user : users[next])
      if (--needs[user] == 0)
        ready.insert(user);
  }
  return sorted;
}

void zc::sortNodes(proto::GraphProto &graph) {
  Sorter sorter(graph);
  if (sorter.readNeeds()) {
    std::vector<proto::NodeProto *> sorted = sorter.run();
    if (int(sorted.size()) == graph.node_size())
      std::copy(sorted.begin(), sorted.end(),
                graph.mutable_node()->pointer_begin());
  }
  for (proto::NodeProto &node : *graph.mutable_node())
    for (proto::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        sortNodes(*attribute.mutable_g());
}

// --- Sparse tensors
// -------------------------------------------------------------

// More would be a dense tensor that nobody can hold beside its model.
static constexpr uint64_t kMostDenseBytes = uint64_t(1) << 31;

// The place of element `index` of `sparse` in the dense tensor; -1: outside.
static int64_t findPlace(const proto::SparseTensorProto &sparse,
                         const std::vector<int64_t> &indices, int64_t index,
                         int64_t elements) {
  int64_t rank = sparse.dims_size();
  if (sparse.indices().dims_size() < 2)
    return indices[index] >= 0 && indices[index] < elements ? indices[index]
                                                            : -1;
  int64_t place = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t at = indices[index * rank + dim];
    if (at < 0 || at >= sparse.dims(dim))
      return -1;
    place = place * sparse.dims(dim) + at;
  }
  return place;
}

static Expected<proto::TensorProto>
makeDense(const ModelFile &file, const proto::SparseTensorProto &sparse) {
  auto fail = [&](const char *what) {
    return createStringError("sparse tensor '" + sparse.values().name() +
                             "': " + what);
  };
  proto::TensorProto dense;
  dense.set_name(sparse.values().name());
  dense.set_data_type(sparse.values().data_type());
  *dense.mutable_dims() = sparse.dims();
  std::optional<uint64_t> bytes = getTensorBytes(dense);
  uint64_t width = getElementBytes(dense.data_type());
  if (!bytes || *bytes > kMostDenseBytes)
    return fail("expected numbers or bools of at most 2 GiB in all");
  Expected<std::string> values = readTensorBytes(file, sparse.values());
  if (!values)
    return values.takeError();
  Expected<std::string> places = readTensorBytes(file, sparse.indices());
  if (!places)
    return places.takeError();
  std::vector<int64_t> indices(places->size() / sizeof(int64_t));
  std::memcpy(indices.data(), places->data(), indices.size() * sizeof(int64_t));
  uint64_t count = values->size() / width;
  uint64_t perValue = sparse.indices().dims_size() < 2 ? 1 : sparse.dims_size();
  if (indices.size() != count * perValue)
    return fail("its values and indices are not as many");
  std::string whole(*bytes, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    int64_t place = findPlace(sparse, indices, i, *bytes / width);
    if (place < 0)
      return fail("an index lies outside its dims");
    std::memcpy(&whole[place * width], &(*values)[i * width], width);
  }
  dense.set_raw_data(std::move(whole));
  return dense;
}

static Error makeDense(const ModelFile &file, proto::NodeProto &node);

static Error makeDense(const ModelFile &file, proto::GraphProto &graph) {
  for (const proto::SparseTensorProto &sparse : graph.sparse_initializer()) {
    Expected<proto::TensorProto> dense = makeDense(file, sparse);
    if (!dense)
      return dense.takeError();
    *graph.add_initializer() = std::move(*dense);
  }
  graph.clear_sparse_initializer();
  for (proto::NodeProto &node : *graph.mutable_node())
    if (Error error = makeDense(file, node))
      return error;
  return Error::success();
}

static Error makeDense(const ModelFile &file, proto::NodeProto &node) {
  for (proto::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      if (Error error = makeDense(file, *attribute.mutable_g()))
        return error;
    if (node.op_type() != "Constant" || attribute.name() != "sparse_value" ||
        !attribute.has_sparse_tensor())
      continue;
    Expected<proto::TensorProto> dense =
        makeDense(file, attribute.sparse_tensor());
    if (!dense)
      return dense.takeError();
    attribute.Clear();
    attribute.set_name("value");
    attribute.set_type(proto::AttributeProto::TENSOR);
    *attribute.mutable_t() = std::move(*dense);
  }
  return Error::success();
}

Error zc::makeDense(ModelFile &file) {
  if (Error error = ::makeDense(file, *file.model.mutable_graph()))
    return error;
  for (proto::FunctionProto &function : *file.model.mutable_functions())
    for (proto::NodeProto &node : *function.mutable_node())
      if (Error error = ::makeDense(file, node))
        return error;
  return Error::success();
}

// --- Outputs
// ------------------------------------------------------------------------

static bool hasShape(const proto::ValueInfoProto &output) {
  bool known = output.type().value_case() != proto::TypeProto::VALUE_NOT_SET;
  return known && (!output.type().has_tensor_type() ||
                   output.type().tensor_type().has_shape());
}

void zc::inferOutputShapes(proto::ModelProto &model) {
  auto *outputs = model.mutable_graph()->mutable_output();
  if (llvm::all_of(*outputs, hasShape))
    return;
  proto::ModelProto inferred = model;
  try {
    proto::shape_inference::InferShapes(inferred,
                                        proto::OpSchemaRegistry::Instance());
  } catch (const std::exception &) {
    return; // a model that does not fit; import tells why
  }
  for (int i = 0; i < outputs->size(); ++i)
    if (!hasShape((*outputs)[i]))
      *(*outputs)[i].mutable_type() = inferred.graph().output(i).type();
}
