#include "compiler/Import/FunctionSizes.h"

#include <algorithm>
#include <functional>
#include <vector>

using namespace zc;

/// As the importer finds a function.
static std::string getKey(const std::string &domain, const std::string &name,
                          const std::string &overload) {
  return domain + ":" + name + ":" + overload;
}

static std::string getKey(const proto::NodeProto &node) {
  return getKey(node.domain() == "ai.onnx" ? "" : node.domain(), node.op_type(),
                node.overload());
}

static bool isIf(const proto::NodeProto &node) {
  return node.op_type() == "If" &&
         (node.domain().empty() || node.domain() == "ai.onnx");
}

// Visits the nodes in the branches of an If, too.
static void
forEachNode(const google::protobuf::RepeatedPtrField<proto::NodeProto> &nodes,
            const std::function<void(const proto::NodeProto &)> &visit) {
  for (const proto::NodeProto &node : nodes) {
    visit(node);
    if (isIf(node))
      for (const proto::AttributeProto &branch : node.attribute())
        forEachNode(branch.g().node(), visit);
  }
}

namespace {
/// A function that others wait for, as they call it.
struct Called {
  const proto::FunctionProto *function = nullptr;
  std::vector<llvm::StringMapEntry<Called> *> callers; // once for each call
  unsigned waits = 0; // for those that it calls itself
};
} // namespace

FunctionSizes::FunctionSizes(const proto::ModelProto &model) {
  llvm::StringMap<Called> all;
  for (const proto::FunctionProto &function : model.functions())
    all[getKey(function.domain(), function.name(), function.overload())]
        .function = &function;
  std::vector<llvm::StringMapEntry<Called> *> ready;
  for (llvm::StringMapEntry<Called> &caller : all) {
    forEachNode(caller.second.function->node(), [&](const auto &node) {
      if (auto called = all.find(getKey(node)); called != all.end()) {
        called->second.callers.push_back(&caller);
        ++caller.second.waits;
      }
    });
    if (caller.second.waits == 0)
      ready.push_back(&caller);
    sizes[caller.first()] = kMost; // which only those in a circle keep
  }
  while (!ready.empty()) {
    llvm::StringMapEntry<Called> *known = ready.back();
    ready.pop_back();
    sizes[known->first()] = countAll(known->second.function->node());
    for (llvm::StringMapEntry<Called> *caller : known->second.callers)
      if (--caller->second.waits == 0)
        ready.push_back(caller);
  }
}

uint64_t FunctionSizes::countAll(const Nodes &nodes) const {
  uint64_t size = 0;
  for (const proto::NodeProto &node : nodes)
    size = std::min(kMost, size + count(node));
  return size;
}

uint64_t FunctionSizes::count(const proto::NodeProto &node) const {
  uint64_t inside = 0;
  if (auto called = sizes.find(getKey(node)); called != sizes.end()) {
    inside = called->second;
  } else if (isIf(node)) {
    inside = node.attribute().empty() ? 0 : kMost;
    for (const proto::AttributeProto &branch : node.attribute())
      inside = std::min(inside, countAll(branch.g().node()));
  }
  return std::min(kMost, 1 + inside);
}

const proto::NodeProto *
FunctionSizes::findExcess(llvm::ArrayRef<const proto::NodeProto *> nodes,
                          uint64_t most) const {
  uint64_t size = 0;
  for (const proto::NodeProto *node : nodes) {
    size = std::min(kMost, size + count(*node));
    if (size > most)
      return node;
  }
  return nullptr;
}
