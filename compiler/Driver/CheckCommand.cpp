// `zc check`: what would be trained, which operators lack, which data is
// wanted.
#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/Registration.h"
#include "compiler/Driver/Summary.h"
#include "compiler/Driver/TensorNames.h"
#include "compiler/OnnxModel/ModelFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>
#include <set>

using namespace mlir;
using namespace zc;

namespace {

using Json = nlohmann::ordered_json;

// A size to look at the model with, where its file leaves it open.
constexpr int64_t kSamples = 4, kOtherSize = 64;

struct Checked {
  std::map<std::string, int64_t> assumed; // dims
  std::vector<std::string> problems;
  Summary summary;
  std::vector<std::pair<std::string, RankedTensorType>> inputs, outputs;
  std::map<std::string, int64_t> operators;
};

} // namespace

// As the compiler calls dims without names.
static std::map<std::string, int64_t> assumeDims(const std::string &path) {
  std::map<std::string, int64_t> dims;
  llvm::Expected<ModelFile> file = readModelFile(path, AbsentData::Allowed);
  if (!file) {
    llvm::consumeError(file.takeError()); // the import says it
    return dims;
  }
  std::set<std::string> stored;
  for (const proto::TensorProto &tensor : file->model.graph().initializer())
    stored.insert(tensor.name());
  for (const proto::ValueInfoProto &input : file->model.graph().input()) {
    if (stored.count(input.name()) || !input.type().has_tensor_type())
      continue;
    const auto &shape = input.type().tensor_type().shape();
    for (int i = 0; i < shape.dim_size(); ++i) {
      if (shape.dim(i).has_dim_value())
        continue;
      std::string name = shape.dim(i).dim_param();
      if (name.empty())
        name = input.name() + "." + std::to_string(i);
      dims.insert({name, i == 0 ? kSamples : kOtherSize});
    }
  }
  return dims;
}

static std::string printTensor(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : type.getShape())
    os << size << 'x';
  os << type.getElementType();
  return nameTensor(text);
}

static void describeGraph(ModuleOp module, Checked &checked) {
  auto graph = *module.getBody()->getOps<zc::onnx::GraphOp>().begin();
  auto add = [](auto &list, ArrayAttr names, TypeRange types) {
    for (auto [name, type] : llvm::zip(names.getAsRange<StringAttr>(), types))
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        list.emplace_back(name.getValue().str(), tensor);
  };
  add(checked.inputs, graph.getInputNames(),
      graph.getBody().getArgumentTypes());
  Operation *end = graph.getBody().front().getTerminator();
  add(checked.outputs, graph.getOutputNames(), end->getOperandTypes());
  for (auto node : graph.getBody().getOps<zc::onnx::NodeOp>())
    ++checked.operators[node.getOpType().str()];
  checked.summary = summarizeModel(module);
}

/// The labels with which each loss would compare the first output.
static std::vector<std::pair<std::string, std::string>>
listLabels(const Checked &checked) {
  std::vector<std::pair<std::string, std::string>> labels;
  if (checked.outputs.empty())
    return labels;
  RankedTensorType type = checked.outputs.front().second;
  if (!isa<FloatType>(type.getElementType()))
    return labels;
  if (type.getNumElements() == 1)
    labels.push_back({"none", "none: the output is the loss"});
  if (type.getRank() >= 2) {
    llvm::SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + (type.getRank() == 3 ? 2 : 1));
    auto classes =
        RankedTensorType::get(shape, IntegerType::get(type.getContext(), 64));
    labels.push_back({"softmax-cross-entropy", printTensor(classes)});
  }
  labels.push_back({"mse, l1, huber, bce-with-logits", printTensor(type)});
  return labels;
}

static Json toJson(const std::string &model, const Checked &checked) {
  Json json = {{"model", model},
               {"sound", checked.problems.empty()},
               {"problems", checked.problems},
               {"assumed_dims", checked.assumed},
               {"parameters",
                {{"trained", checked.summary.trainedElements},
                 {"trained_tensors", checked.summary.trainedTensors},
                 {"all", checked.summary.elements},
                 {"all_tensors", checked.summary.tensors}}},
               {"operators", checked.operators}};
  for (const auto &[key, list] :
       {std::pair("inputs", &checked.inputs), {"outputs", &checked.outputs}}) {
    json[key] = Json::array();
    for (const auto &[name, type] : *list)
      json[key].push_back({{"name", name}, {"type", printTensor(type)}});
  }
  json["labels"] = Json::array();
  for (const auto &[losses, type] : listLabels(checked))
    json["labels"].push_back({{"loss", losses}, {"type", type}});
  return json;
}

static void print(const std::string &model, const Checked &checked) {
  llvm::raw_ostream &os = llvm::outs();
  for (const auto &[name, size] : checked.assumed)
    os << "zc: looked at with --dim " << name << "=" << size
       << ", which the file leaves open\n";
  if (!checked.inputs.empty()) {
    os << llvm::formatv(
        "zc: would train {0:N} of {1:N} parameters in {2} of "
        "{3} tensors\n",
        checked.summary.trainedElements, checked.summary.elements,
        checked.summary.trainedTensors, checked.summary.tensors);
    if (!checked.summary.unreached.empty())
      os << "zc: a loss of the first output does not depend on "
         << llvm::join(checked.summary.unreached, ", ")
         << ", which would stay as they are\n";
    for (const auto &[name, type] : checked.inputs)
      os << "zc: wants input '" << name << "', " << printTensor(type) << '\n';
    for (const auto &[losses, type] : listLabels(checked))
      os << "zc: with --loss " << losses << ": labels " << type << '\n';
    for (const auto &[name, type] : checked.outputs)
      os << "zc: output '" << name << "', " << printTensor(type) << '\n';
  }
  if (checked.problems.empty())
    os << "zc: '" << model << "' can be trained: all operators are supported\n";
  else
    os << "zc: '" << model << "' cannot be trained: " << checked.problems.size()
       << " problem" << (checked.problems.size() == 1 ? "" : "s") << '\n';
  os.flush();
}

static int check(const std::string &model, bool json) {
  CompileOptions options;
  options.model = model;
  options.emit = Emit::Train;
  Checked checked;
  options.dims = checked.assumed = assumeDims(model);
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  Phases phases(&context, options);
  // Remembered here, and then printed as ever.
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      checked.problems.push_back(diagnostic.str());
    return failure();
  });
  if (succeeded(phases.importModel())) {
    describeGraph(phases.getModule(), checked);
    if (failed(phases.convertToTrain()) && checked.problems.empty())
      checked.problems.push_back("cannot be lowered");
  } else if (checked.problems.empty()) {
    checked.problems.push_back("cannot be read");
  }
  if (json)
    llvm::outs() << toJson(model, checked).dump(2) << '\n';
  else
    print(model, checked);
  return checked.problems.empty() ? 0 : 1;
}

Command zc::addCheckCommand(CLI::App &command) {
  auto model = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command.add_option("model", *model, "the model, MODEL.onnx")->required();
  command.add_flag("--json", *json, "print it as JSON");
  return [model, json] { return check(*model, *json); };
}
