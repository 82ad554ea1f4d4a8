#include "dialects/Onnx/Location.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc::onnx;

Location zc::onnx::makeLocation(MLIRContext *context,
                                const NodeOrigin &origin) {
  auto string = [&](StringRef text) { return StringAttr::get(context, text); };
  Location file = FileLineColLoc::get(string(origin.file), 0, 0);
  Location operatorName = NameLoc::get(string(origin.operatorName), file);
  Location module = NameLoc::get(string(origin.module), operatorName);
  return NameLoc::get(string(origin.node), module);
}

static std::optional<NodeOrigin> readChain(NameLoc node) {
  auto module = dyn_cast<NameLoc>(node.getChildLoc());
  if (!module)
    return std::nullopt;
  auto operatorName = dyn_cast<NameLoc>(module.getChildLoc());
  if (!operatorName)
    return std::nullopt;
  auto file = dyn_cast<FileLineColLoc>(operatorName.getChildLoc());
  if (!file)
    return std::nullopt;
  return NodeOrigin{node.getName().getValue(), module.getName().getValue(),
                    operatorName.getName().getValue(),
                    file.getFilename().getValue()};
}

std::optional<NodeOrigin> zc::onnx::getOrigin(Location location) {
  std::optional<NodeOrigin> origin;
  location->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner))
      origin = readChain(name);
    return origin ? WalkResult::interrupt() : WalkResult::advance();
  });
  return origin;
}

std::string zc::onnx::describe(Location location) {
  std::optional<NodeOrigin> origin = getOrigin(location);
  if (!origin)
    return "";
  std::string text;
  if (!origin->file.empty())
    text += origin->file.str() + ": ";
  if (origin->operatorName == kInitializer)
    return text + "initializer '" + origin->node.str() + "'";
  text += "node '" + origin->node.str() + "'";
  if (!origin->operatorName.empty())
    text += " (" + origin->operatorName.str() + ")";
  if (!origin->module.empty())
    text += " in " + origin->module.str();
  return text;
}

StringRef zc::onnx::getModulePath(Location location) {
  std::optional<NodeOrigin> origin = getOrigin(location);
  return origin ? origin->module : StringRef();
}

StringRef zc::onnx::getLayerPath(StringRef path) {
  size_t begin = 0;
  while (begin < path.size()) {
    size_t end = std::min(path.find('.', begin), path.size());
    StringRef part = path.slice(begin, end);
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return path.take_front(end);
    begin = end + 1;
  }
  return "";
}
