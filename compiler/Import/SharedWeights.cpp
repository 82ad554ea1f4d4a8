#include "compiler/Import/SharedWeights.h"

#include "compiler/Import/OperatorRoles.h"
#include "compiler/OnnxModel/TensorSource.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc;

namespace {
/// The role of one initializer in the nodes that use it.
struct Service {
  const char *role = nullptr;             // of the first that has one
  unsigned count = 0;                     // of such nodes
  llvm::SmallSetVector<Value, 4> weights; // of those nodes, beside it
};
} // namespace

static Value getOperand(zc::onnx::NodeOp node, unsigned index) {
  return index < node.getInputs().size() ? node.getInputs()[index] : Value();
}

// The weight of the product that the bias is added to.
static Value getWeightOfSum(zc::onnx::NodeOp sum, unsigned bias) {
  if (sum.getInputs().size() != 2)
    return {};
  auto product = sum.getInputs()[1 - bias].getDefiningOp<zc::onnx::NodeOp>();
  return product && product.getDomain().empty() &&
                 hasBiasBehind(product.getOpType())
             ? getOperand(product, 1)
             : Value();
}

static void addUse(zc::onnx::NodeOp node, unsigned index, Service &service) {
  StringRef op = node.getOpType();
  bool isProduct = hasBiasBehind(op);
  const char *role = nullptr;
  Value weight;
  if (op == "Add" && (weight = getWeightOfSum(node, index)))
    role = "biases";
  else if (isProduct && index == 2 && op != "MatMul")
    role = "biases", weight = getOperand(node, 1);
  else if (isSlopeOperand(op, index))
    role = "slopes";
  else if (op.ends_with("Normalization") && isParameterOperand(op, index))
    role = index == 1 ? "scales" : "biases";
  if (!role)
    return;
  service.role = service.role ? service.role : role;
  ++service.count;
  if (weight)
    service.weights.insert(weight);
}

static void addUses(Value value, Service &service) {
  for (OpOperand &use : value.getUses()) {
    auto node = dyn_cast<zc::onnx::NodeOp>(use.getOwner());
    if (!node || !node.getDomain().empty())
      continue;
    if (keepsParameter(node.getOpType()) && use.getOperandNumber() == 0)
      addUses(node.getResult(0), service);
    else
      addUse(node, use.getOperandNumber(), service);
  }
}

// As a fresh module's are; nothing that was trained ends so.
static bool isUniform(zc::onnx::InitializerOp initializer,
                      const std::string &folder) {
  if (auto elements =
          dyn_cast_or_null<DenseElementsAttr>(initializer.getValueAttr()))
    return elements.isSplat();
  if (!initializer.getSource())
    return false;
  zc::onnx::ExternalAttr source = *initializer.getSource();
  auto bytes = readSource(
      folder, {source.getFile().str(), source.getOffset(), source.getLength()});
  if (!bytes) {
    llvm::consumeError(bytes.takeError()); // reported where weights are written
    return false;
  }
  Type type = cast<ShapedType>(initializer.getType()).getElementType();
  size_t width = type.getIntOrFloatBitWidth() / 8;
  return bytes->size() >= width && StringRef(*bytes).drop_front(width) ==
                                       StringRef(*bytes).drop_back(width);
}

// How often the model calls a module that it shares with its matrices.
static unsigned countCalls(zc::onnx::GraphOp graph) {
  unsigned most = 1;
  for (auto initializer : graph.getBody().getOps<zc::onnx::InitializerOp>()) {
    auto type = cast<ShapedType>(initializer.getType());
    if (initializer.getTrained() && type.getRank() >= 2)
      most = std::max<unsigned>(most, llvm::range_size(initializer->getUses()));
  }
  return most;
}

void zc::warnOfMergedWeights(zc::onnx::GraphOp graph,
                             const std::string &folder) {
  auto all = llvm::to_vector(graph.getBody().getOps<zc::onnx::InitializerOp>());
  if (llvm::any_of(all, [](zc::onnx::InitializerOp each) {
        return bool(each.getKind());
      }))
    return;
  unsigned calls = countCalls(graph);
  SmallVector<std::string> merged;
  for (zc::onnx::InitializerOp initializer : all) {
    Service service;
    if (initializer.getTrained())
      addUses(initializer.getResult(), service);
    bool isMerged = service.weights.size() > 1 ||
                    (service.weights.empty() && service.count > calls &&
                     isUniform(initializer, folder));
    if (service.count > 1 && isMerged)
      merged.push_back("'" + initializer.getName().str() + "' feeds " +
                       std::to_string(service.count) + " " + service.role +
                       " and is trained as one");
  }
  if (merged.empty())
    return;
  constexpr size_t kShown = 3;
  std::string text = llvm::join(ArrayRef(merged).take_front(kShown), "; ");
  if (merged.size() > kShown)
    text += "; and " + std::to_string(merged.size() - kShown) + " more so";
  emitWarning(graph.getLoc())
      << text
      << "; whoever wrote the file has merged equal weights; to train them "
         "apart, write it without such optimisation";
}
