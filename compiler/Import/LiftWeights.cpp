#include "compiler/Import/LiftWeights.h"

#include "compiler/Import/Candidates.h"
#include "compiler/OnnxModel/ModelWeights.h"

#include "llvm/ADT/MapVector.h"
#include <algorithm>

using namespace zc;

namespace {
class Lifter {
public:
  Lifter(ModelFile &file, const TensorMetadata &metadata,
         const std::function<bool(llvm::StringRef)> &chosen)
      : file(file), graph(*file.model.mutable_graph()),
        weights(findWeights(file.model)), candidates(file, metadata, chosen) {}

  LiftedWeights run();

private:
  void lift(ModelWeight &weight);
  void nameInside(const ModelWeight &weight);
  void insertNames();
  void eraseConstants();

  const ModelFile &file;
  proto::GraphProto &graph;
  std::vector<ModelWeight> weights;
  Candidates candidates;
  LiftedWeights result;
  /// Nodes that give a graph's lifted initializers their names there.
  llvm::MapVector<proto::GraphProto *, std::vector<proto::NodeProto>> names;
};
} // namespace

static void makeIdentity(proto::NodeProto &node, const std::string &from,
                         const std::string &to) {
  node.Clear();
  node.set_op_type("Identity");
  node.add_input(from);
  node.add_output(to);
}

void Lifter::nameInside(const ModelWeight &weight) {
  if (weight.constant)
    makeIdentity(*weight.constant, weight.name, weight.local);
  else
    makeIdentity(names[weight.graph].emplace_back(), weight.name, weight.local);
}

void Lifter::lift(ModelWeight &weight) {
  proto::TensorProto &lifted = *graph.add_initializer();
  lifted.Swap(&getTensor(weight));
  lifted.set_name(weight.name);
  if (!weight.isInner)
    return;
  result.inner.insert(weight.name);
  nameInside(weight);
}

// In front of the nodes that use them.
void Lifter::insertNames() {
  for (auto &[body, nodes] : names) {
    auto *all = body->mutable_node();
    int before = all->size();
    for (proto::NodeProto &node : nodes)
      *body->add_node() = std::move(node);
    std::rotate(all->pointer_begin(), all->pointer_begin() + before,
                all->pointer_end());
    body->clear_initializer();
  }
}

// The graph's own Constants are initializers by the same names now.
void Lifter::eraseConstants() {
  auto *nodes = graph.mutable_node();
  auto isLifted = [&](const proto::NodeProto *node) {
    return node->op_type() == "Constant" && node->output_size() == 1 &&
           result.changing.contains(node->output(0));
  };
  auto end = std::stable_partition(
      nodes->pointer_begin(), nodes->pointer_end(),
      [&](const proto::NodeProto *node) { return !isLifted(node); });
  int kept = int(end - nodes->pointer_begin());
  nodes->DeleteSubrange(kept, nodes->size() - kept);
}

LiftedWeights Lifter::run() {
  for (ModelWeight &weight : weights) {
    bool changes =
        candidates.mayChange(weight.name, weight.local, getTensor(weight));
    if (changes)
      result.changing.insert(weight.name);
    // A large one keeps its place in the file, and so needs a name of its own.
    bool isLarge = weight.isInner && getSource(file, *weight.tensor);
    if (weight.constant ? changes || isLarge : weight.isInner)
      lift(weight);
  }
  insertNames();
  eraseConstants();
  return std::move(result);
}

LiftedWeights
zc::liftWeights(ModelFile &file, const TensorMetadata &metadata,
                const std::function<bool(llvm::StringRef)> &chosen) {
  return Lifter(file, metadata, chosen).run();
}
