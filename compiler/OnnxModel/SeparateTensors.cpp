#include "compiler/OnnxModel/SeparateTensors.h"

#include "compiler/OnnxModel/ModelWeights.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace zc;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

// Whether all elements are equal, as in a module that was never trained.
static Expected<bool> isUniform(const ModelFile &file,
                                const proto::TensorProto &tensor) {
  if (isAbsent(tensor))
    return false;
  Expected<std::string> bytes = readTensorBytes(file, tensor);
  if (!bytes)
    return bytes.takeError();
  size_t width = getElementBytes(tensor.data_type());
  return width && bytes->size() >= width &&
         StringRef(*bytes).drop_front(width) ==
             StringRef(*bytes).drop_back(width);
}

static StringRef getModule(StringRef name) {
  return name.contains('.') ? name.rsplit('.').first : "";
}

// An older file lists its initializers among the inputs too.
static void addInitializer(proto::ModelProto &model, proto::TensorProto tensor,
                           const std::string &name) {
  tensor.set_name(name);
  proto::GraphProto &graph = *model.mutable_graph();
  if (model.ir_version() < 4) {
    proto::ValueInfoProto &input = *graph.add_input();
    input.set_name(name);
    auto &type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    for (int64_t dim : tensor.dims())
      type.mutable_shape()->add_dim()->set_dim_value(dim);
    if (tensor.dims().empty())
      type.mutable_shape();
  }
  *graph.add_initializer() = std::move(tensor);
}

// --- Merged weights
// -------------------------------------------------------------

namespace {
/// "ln2.bias" = Identity("ln1.bias").
struct Merged {
  int node;
  std::string name, source;
  bool isUniform;
};

class Parter {
public:
  explicit Parter(ModelFile &file)
      : file(file), graph(*file.model.mutable_graph()) {}
  Error run();

private:
  Error findMerged();
  const Merged *findTie(const Merged &merged) const;

  ModelFile &file;
  proto::GraphProto &graph;
  llvm::StringMap<const proto::TensorProto *> initializers;
  std::vector<Merged> all;
};
} // namespace

// Nodes that the exporter itself adds have numbers for names, and no metadata.
static bool isMergingNode(const proto::NodeProto &node) {
  return node.op_type() == "Identity" && node.input_size() == 1 &&
         node.output_size() == 1 && node.metadata_props().empty() &&
         StringRef(node.name()).starts_with("Identity_");
}

Error Parter::findMerged() {
  llvm::StringSet<> outputs;
  for (const proto::ValueInfoProto &output : graph.output())
    outputs.insert(output.name());
  for (const proto::TensorProto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  for (int i = 0; i < graph.node_size(); ++i) {
    const proto::NodeProto &node = graph.node(i);
    if (!isMergingNode(node) || outputs.contains(node.output(0)))
      continue;
    auto source = initializers.find(node.input(0));
    if (source == initializers.end() ||
        !isFloatType(source->second->data_type()))
      continue;
    Expected<bool> uniform = isUniform(file, *source->second);
    if (!uniform)
      return uniform.takeError();
    all.push_back({i, node.output(0), node.input(0), *uniform});
  }
  return Error::success();
}

// A module whose weight is another's, though no two that were drawn are equal,
// is that module: so are its scales and biases.
const Merged *Parter::findTie(const Merged &merged) const {
  StringRef module = getModule(merged.name);
  auto tie = llvm::find_if(all, [&](const Merged &other) {
    return !module.empty() && !other.isUniform &&
           getModule(other.name) == module && !getModule(other.source).empty();
  });
  return tie == all.end() ? nullptr : &*tie;
}

Error Parter::run() {
  if (file.model.producer_name() != "pytorch")
    return Error::success();
  if (Error error = findMerged())
    return error;
  llvm::StringSet<> parts, gone;
  for (const Merged &merged : all)
    if (merged.isUniform && !findTie(merged))
      parts.insert(merged.name);
  for (const Merged &merged : all) {
    if (!merged.isUniform)
      continue;
    const Merged *tie = findTie(merged);
    if (!tie) {
      file.parted.push_back(merged.name);
      continue;
    }
    std::string twin = (getModule(tie->source) + "." +
                        StringRef(merged.name).rsplit('.').second)
                           .str();
    if (initializers.contains(twin) || parts.contains(twin))
      graph.mutable_node(merged.node)->set_input(0, twin);
  }
  for (const Merged &merged : all)
    if (parts.contains(merged.name))
      addInitializer(file.model, *initializers[merged.source], merged.name);
  auto *nodes = graph.mutable_node();
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(),
                              [&](const proto::NodeProto &node) {
                                return isMergingNode(node) &&
                                       parts.contains(node.output(0));
                              }),
               nodes->end());
  return Error::success();
}

Error zc::partMergedWeights(ModelFile &file) { return Parter(file).run(); }

// --- Statistics
// -----------------------------------------------------------------

namespace {
struct Use {
  proto::NodeProto *node;
  int operand;
};

/// Where one tensor is used, by its role.
struct Roles {
  proto::TensorProto *tensor = nullptr;
  std::vector<Use> statistics;
  bool hasOthers = false;
};

class Separator {
public:
  explicit Separator(ModelFile &file)
      : file(file), graph(*file.model.mutable_graph()) {}
  void run();

private:
  void findTensors();
  void readUses(proto::GraphProto &graph);
  Roles *find(StringRef name);
  void separate(StringRef name, const Roles &roles);
  std::string getName(const Use &use, StringRef tensor);

  ModelFile &file;
  proto::GraphProto &graph;
  std::vector<ModelWeight> weights;
  llvm::MapVector<StringRef, Roles> all;
  llvm::StringMap<std::string> aliases; // Identity nodes: what they name
  llvm::StringSet<> taken;
};
} // namespace

void Separator::findTensors() {
  weights = findWeights(file.model);
  for (ModelWeight &weight : weights)
    if (!weight.isInner && weight.tensor)
      all[weight.name].tensor = weight.tensor;
  for (const proto::ValueInfoProto &input : graph.input())
    taken.insert(input.name());
  for (const ModelWeight &weight : weights)
    taken.insert(weight.name);
  for (const proto::NodeProto &node : graph.node()) {
    for (const std::string &output : node.output())
      taken.insert(output);
    if (node.op_type() == "Identity" && node.input_size() == 1 &&
        node.output_size() == 1)
      aliases[node.output(0)] = node.input(0);
  }
}

Roles *Separator::find(StringRef name) {
  // The checker, which refuses circles, comes later.
  for (size_t i = 0; i <= aliases.size() && aliases.contains(name); ++i)
    name = aliases.find(name)->second;
  auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

// A branch or a body uses the names around it.
void Separator::readUses(proto::GraphProto &graph) {
  for (proto::NodeProto &node : *graph.mutable_node()) {
    for (int i = 0; i < node.input_size(); ++i) {
      Roles *roles = find(node.input(i));
      if (!roles || node.op_type() == "Identity")
        continue;
      if (node.op_type() == "BatchNormalization" && i >= 3)
        roles->statistics.push_back({&node, i});
      else
        roles->hasOthers = true;
    }
    for (proto::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        readUses(*attribute.mutable_g());
  }
}

// PyTorch's name for it, where the scale beside it has such a name.
std::string Separator::getName(const Use &use, StringRef tensor) {
  const char *role = use.operand == 3 ? "running_mean" : "running_var";
  StringRef module = getModule(use.node->input(1));
  std::string name = module.empty() ? (tensor + "." + role).str()
                                    : (module + "." + role).str();
  std::string unique = name;
  for (unsigned i = 1; !taken.insert(unique).second; ++i)
    unique = name + "." + std::to_string(i);
  return unique;
}

// Statistics that several nodes share and nothing else uses are those of one
// module that is called several times: merging by value takes scales along.
void Separator::separate(StringRef name, const Roles &roles) {
  if (!roles.hasOthers)
    return;
  proto::TensorProto tensor = *roles.tensor;
  for (const Use &use : roles.statistics) {
    std::string own = getName(use, name);
    use.node->set_input(use.operand, own);
    addInitializer(file.model, tensor, own);
  }
}

void Separator::run() {
  findTensors();
  readUses(graph);
  for (const auto &[name, roles] : all)
    separate(name, roles);
}

void zc::separateStatistics(ModelFile &file) { Separator(file).run(); }
