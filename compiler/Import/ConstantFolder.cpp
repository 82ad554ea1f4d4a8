#include "compiler/Import/ConstantFolder.h"

#include "llvm/ADT/StringMap.h"

using namespace zc;

const proto::AttributeProto *
FoldRequest::getAttribute(llvm::StringRef name) const {
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t FoldRequest::getInt(llvm::StringRef name, int64_t absent) const {
  const proto::AttributeProto *attribute = getAttribute(name);
  return attribute ? attribute->i() : absent;
}

std::string FoldRequest::getString(llvm::StringRef name,
                                   llvm::StringRef absent) const {
  const proto::AttributeProto *attribute = getAttribute(name);
  return attribute ? attribute->s() : absent.str();
}

std::optional<std::vector<int64_t>> FoldRequest::getInts(llvm::StringRef name,
                                                         size_t index) const {
  if (const proto::AttributeProto *attribute = getAttribute(name))
    return std::vector<int64_t>(attribute->ints().begin(),
                                attribute->ints().end());
  const HostTensor *input = getInput(index);
  if (!input || input->isFloat() || input->dims.size() > 1)
    return std::nullopt;
  return input->getInts();
}

std::optional<int64_t> zc::normalizeAxis(int64_t axis, size_t size) {
  if (axis < 0)
    axis += size;
  if (axis < 0 || axis >= int64_t(size))
    return std::nullopt;
  return axis;
}

static const llvm::StringMap<FoldFunction> &getTable() {
  static const llvm::StringMap<FoldFunction> table = [] {
    llvm::StringMap<FoldFunction> map;
    for (auto family :
         {getElementwiseFolders(), getMovementFolders(), getCreationFolders(),
          getReductionFolders(), getSelectionFolders()})
      for (const FoldEntry &entry : family)
        map[entry.op] = entry.function;
    return map;
  }();
  return table;
}

bool zc::canFold(const proto::NodeProto &node) {
  bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  return standard && getTable().count(node.op_type());
}

FoldResults zc::fold(const FoldRequest &request) {
  auto entry = getTable().find(request.node.op_type());
  return entry == getTable().end() ? std::nullopt : entry->second(request);
}
