#include "compiler/Import/GraphImporter.h"

#include "compiler/Import/ConstantFolder.h"
#include "compiler/Import/DimBinding.h"
#include "compiler/Import/ExportWarnings.h"
#include "compiler/Import/FunctionSizes.h"
#include "compiler/Import/InputBinding.h"
#include "compiler/Import/Types.h"
#include "compiler/OnnxModel/Scores.h"
#include "compiler/OnnxModel/WireRewriter.h"
#include "dialects/Onnx/Location.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace mlir;
using namespace zc;

GraphImporter::GraphImporter(MLIRContext *context, const ModelFile &file,
                             const ModelImportOptions &options,
                             const LiftedWeights &weights)
    : context(context), file(file), options(options), weights(weights),
      metadata(readTensorMetadata(file.model.graph())) {
  for (const proto::FunctionProto &function : file.model.functions())
    functions[function.domain() + ":" + function.name() + ":" +
              function.overload()] = &function;
}

Location GraphImporter::getFileLocation() const {
  return FileLineColLoc::get(StringAttr::get(context, file.name), 0, 0);
}

InFlightDiagnostic GraphImporter::emitFailure(Location location) {
  failed = true;
  return emitError(location);
}

static DictionaryAttr convertOpsets(MLIRContext *context,
                                    const std::map<std::string, int> &opsets) {
  Builder builder(context);
  NamedAttrList list;
  for (const auto &[domain, version] : opsets)
    list.set(domain.empty() ? "ai.onnx" : domain,
             builder.getI64IntegerAttr(version));
  return list.getDictionary(context);
}

// A subgraph may use the values around it.
void zc::addUsedNames(const proto::NodeProto &node, llvm::StringSet<> &names) {
  for (const std::string &input : node.input())
    names.insert(input);
  auto addGraph = [&](const proto::GraphProto &graph) {
    for (const proto::NodeProto &inner : graph.node())
      addUsedNames(inner, names);
    for (const proto::ValueInfoProto &output : graph.output())
      names.insert(output.name());
  };
  for (const proto::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      addGraph(attribute.g());
    for (const proto::GraphProto &graph : attribute.graphs())
      addGraph(graph);
  }
}

// The nodes that the outputs need, in order. Nodes are sorted: a value is
// computed before it is used.
std::vector<const proto::NodeProto *>
zc::findNeededNodes(const proto::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const proto::ValueInfoProto &output : graph.output())
    names.insert(output.name());
  std::vector<const proto::NodeProto *> needed;
  for (const proto::NodeProto &node : llvm::reverse(graph.node())) {
    if (llvm::none_of(node.output(), [&](const std::string &output) {
          return !output.empty() && names.contains(output);
        }))
      continue;
    addUsedNames(node, names);
    needed.push_back(&node);
  }
  std::reverse(needed.begin(), needed.end());
  return needed;
}

void GraphImporter::readOpsets(Scope &scope) const {
  for (const proto::OperatorSetIdProto &opset : file.model.opset_import())
    scope.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] =
        opset.version();
}

// Nodes of functions are counted before they are opened, rounds of loops not.
constexpr size_t kMaxNodes = size_t(1) << 20;

static LogicalResult sayTooMany(InFlightDiagnostic diagnostic) {
  return diagnostic << "is one of more than " << kMaxNodes
                    << " nodes that the model's functions and loops open into; "
                       "zc's schedules hold each of them";
}

FailureOr<OwningOpRef<ModuleOp>> GraphImporter::import() {
  Scope scope;
  readOpsets(scope);
  module = ModuleOp::create(getFileLocation());
  OpBuilder builder(module->getBodyRegion());
  graph = zc::onnx::GraphOp::create(
      builder, getFileLocation(), "main", builder.getTypeArrayAttr({}),
      builder.getStrArrayAttr({}), builder.getStrArrayAttr({}),
      convertOpsets(context, scope.opsets), {}, {});
  block = &graph.getBody().emplaceBlock();

  importInputs(scope);
  importInitializers(scope);
  if (failed)
    return failure();
  stopGradientsOfInitializers(scope);
  const auto needed = findNeededNodes(file.model.graph());
  if (const proto::NodeProto *excess =
          FunctionSizes(file.model).findExcess(needed, kMaxNodes))
    return sayTooMany(emitFailure(getLocation(*excess, scope)));
  for (const proto::NodeProto *node : needed)
    importNode(*node, scope);
  checkGradientStops();
  if (options.maxTrips && numBounds == 0 && !failed)
    emitWarning(getFileLocation())
        << "--max-trips changes nothing: the model has no loop whose number of "
           "rounds depends on values";
  LogicalResult outputs = importOutputs(scope);
  if (succeeded(outputs))
    eraseDeadOps();
  if (mlir::failed(reportUnsupported()) || mlir::failed(outputs) || failed)
    return failure();
  return std::move(module);
}

void GraphImporter::importInputs(Scope &scope) {
  llvm::StringSet<> initializers;
  for (const proto::TensorProto &tensor : file.model.graph().initializer())
    initializers.insert(tensor.name());
  SmallVector<Attribute> names;
  for (const proto::ValueInfoProto &input : file.model.graph().input()) {
    if (initializers.contains(input.name()))
      continue;
    RankedTensorType type = convertType(context, input.type());
    if (!type) {
      emitFailure(getFileLocation())
          << "input '" << input.name() << "' is " << printType(input.type())
          << "; zc takes tensors of numbers or bools";
      continue;
    }
    if (getNumElements(type.getShape()) > kMaxElements) {
      emitFailure(getFileLocation())
          << "input '" << input.name() << "' is " << printType(input.type())
          << ", which is larger than any memory; check --dim";
      continue;
    }
    ImportedValue *value = makeValue(ImportedValue::Tensor, input.name());
    value->type = input.type();
    value->ir = block->addArgument(type, getFileLocation());
    define(input.name(), value, scope);
    names.push_back(StringAttr::get(context, input.name()));
  }
  graph.setInputNamesAttr(ArrayAttr::get(context, names));
}

void GraphImporter::importInitializers(Scope &scope) {
  room = kLeastKeptElements;
  for (const proto::TensorProto &tensor : file.model.graph().initializer())
    initializerNames.insert(tensor.name());
  for (const proto::TensorProto &tensor : file.model.graph().initializer()) {
    if (!convertElementType(context, tensor.data_type())) {
      emitFailure(getFileLocation())
          << "initializer '" << tensor.name() << "' has the type "
          << getTypeName(tensor.data_type()) << ", which zc does not hold";
      continue;
    }
    ImportedValue *value = makeValue(ImportedValue::Tensor, tensor.name());
    value->type = makeTensorType(tensor.data_type(), getDims(tensor));
    value->stored = &tensor;
    value->foldable =
        !weights.changing.contains(tensor.name()) && !isAbsent(tensor);
    const int64_t elements = getNumElements(*getStaticDims(value->type));
    if (!isAbsent(tensor)) // a few bytes say how large a file would be
      room = std::min(room + kKeptElementsOfEach *
                                 std::clamp<int64_t>(elements, 0, room),
                      kMaxKeptElements);
    uint64_t bytes = getElementBytes(tensor.data_type()) * elements;
    if (bytes <= kInlineBytes && !isAbsent(tensor)) {
      auto data = readTensorBytes(file, tensor);
      if (data)
        value->constant = std::make_shared<HostTensor>(HostTensor::fromBytes(
            tensor.data_type(), *getStaticDims(value->type), *data));
      else
        emitFailure(getFileLocation()) << llvm::toString(data.takeError());
    }
    define(tensor.name(), value, scope);
    if (weights.inner.contains(tensor.name()))
      define(tensor.name(), value, stored);
  }
  // Initializers that are no floats, hold one element or belong to a branch
  // appear when something uses them; the others always, because the summary
  // names them.
  for (const proto::TensorProto &tensor : file.model.graph().initializer()) {
    ImportedValue *value = lookUp(tensor.name(), scope);
    if (value->kind == ImportedValue::Tensor &&
        isFloatType(tensor.data_type()) &&
        !weights.inner.contains(tensor.name()) &&
        getNumElements(*getStaticDims(value->type)) > 1)
      getIr(value);
  }
}

void GraphImporter::importNodes(
    const google::protobuf::RepeatedPtrField<proto::NodeProto> &nodes,
    Scope &scope) {
  for (const proto::NodeProto &node : nodes) {
    if (madeNodes.size() < kMaxNodes) {
      importNode(node, scope);
      continue;
    }
    if (!std::exchange(isTooLong, true))
      (void)sayTooMany(emitFailure(getLocation(node, scope)));
    return;
  }
}

// The declared dims of an output must be those that were computed; symbols may
// have been given sizes meanwhile.
static bool fits(const proto::TypeProto &declared, RankedTensorType type) {
  if (!declared.tensor_type().has_shape())
    return true;
  const auto &shape = declared.tensor_type().shape();
  if (shape.dim_size() != type.getRank())
    return false;
  for (int i = 0; i < shape.dim_size(); ++i)
    if (shape.dim(i).has_dim_value() && shape.dim(i).dim_value() >= 0 &&
        shape.dim(i).dim_value() != type.getDimSize(i))
      return false;
  return true;
}

// A decoder's empty cache is an output, too. Programs have no such tensors, and
// at least one output.
bool GraphImporter::leaveOutEmpty(const std::string &name,
                                  const ImportedValue &value) {
  std::optional<Dims> dims = getStaticDims(value.type);
  if (!dims || getNumElements(*dims) != 0)
    return false;
  if (options.takesEmpty)
    options.takesEmpty({name, value.type.tensor_type().elem_type(),
                        std::vector<int64_t>(dims->begin(), dims->end())});
  if (file.model.graph().output_size() == 1)
    return false;
  emitWarning(getFileLocation()) << "output '" << name << "' has no elements, "
                                 << printType(value.type) << "; it is left out";
  return true;
}

LogicalResult GraphImporter::importOutputs(Scope &scope) {
  SmallVector<Value> values;
  SmallVector<Attribute> names;
  for (const proto::ValueInfoProto &output : file.model.graph().output()) {
    ImportedValue *value = lookUp(output.name(), scope);
    if (value->kind == ImportedValue::Unknown) {
      if (!failed && unsupported.empty())
        emitFailure(getFileLocation())
            << "output '" << output.name() << "' is computed by no node";
      return failure();
    }
    if (value->kind != ImportedValue::Tensor) {
      emitFailure(getFileLocation()) << "output '" << output.name()
                                     << "' is a sequence, expected a tensor";
      continue;
    }
    if (leaveOutEmpty(output.name(), *value))
      continue;
    if (value->held)
      emitWarning(getFileLocation())
          << "output '" << output.name() << "' is as long as --dim says in dim "
          << value->boundedDim
          << "; places behind what was found hold nothing of use";
    value = spoilOutput(value, scope);
    Value ir = getIr(value);
    auto type = cast<RankedTensorType>(ir.getType());
    if (!fits(output.type(), type))
      emitWarning(getFileLocation())
          << "output '" << output.name() << "' is declared as "
          << printType(output.type()) << " but computed as "
          << printType(value->type) << ", which zc goes by";
    values.push_back(ir);
    names.push_back(StringAttr::get(context, output.name()));
  }
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  zc::onnx::ReturnOp::create(builder, getFileLocation(), values);
  graph.setOutputNamesAttr(ArrayAttr::get(context, names));
  graph.setResultTypesAttr(
      builder.getTypeArrayAttr(llvm::to_vector(ValueRange(values).getTypes())));
  return success();
}

void GraphImporter::eraseDeadOps() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block))) {
    if (isa<zc::onnx::ReturnOp>(op) || !op.use_empty())
      continue;
    auto initializer = dyn_cast<zc::onnx::InitializerOp>(op);
    if (initializer && !initializer.getFolded()) {
      auto type = cast<ShapedType>(initializer.getType());
      if (isa<FloatType>(type.getElementType()) && type.getNumElements() > 1)
        continue;
    }
    unsupportedOps.erase(&op);
    op.erase();
  }
}

void GraphImporter::noteUnsupported(StringRef domain, StringRef op,
                                    std::string version, Location location) {
  std::string name = (domain.empty() ? "" : domain + ".").str() + op.str();
  Unsupported &entry = unsupported[name];
  entry.what = name + " (" + version + ")";
  entry.nodes.push_back(location);
}

LogicalResult GraphImporter::reportUnsupported() {
  for (auto &[op, entry] : unsupportedOps) {
    Unsupported &all = unsupported[entry.what];
    all.what = entry.what;
    all.nodes.push_back(op->getLoc());
  }
  if (unsupported.empty())
    return success();
  constexpr size_t kShown = 3;
  std::string text;
  for (const auto &[name, entry] : unsupported) {
    size_t count = entry.nodes.size();
    text += "\n  " + entry.what + ", " + std::to_string(count) +
            (count == 1 ? " node: " : " nodes: ");
    for (size_t i = 0; i < std::min(count, kShown); ++i) {
      std::optional<zc::onnx::NodeOrigin> origin =
          zc::onnx::getOrigin(entry.nodes[i]);
      text += (i ? ", '" : "'") + origin->node.str() + "'";
      if (!origin->module.empty())
        text += " in " + origin->module.str();
    }
    if (count > kShown)
      text += ", ...";
    StringRef what = entry.what;
    if (what.starts_with("NonZero ") || what.starts_with("Compress ") ||
        what.starts_with("Unique "))
      text +=
          "; how long its result is depends on values; the most that it can "
          "be: --dim OUTPUT.K=SIZE";
    if (what.starts_with("NonZero "))
      text += "; experts that look for their tokens: export with "
              "model.set_experts_implementation('batched_mm'), or with "
              "tools/export/zc_moe.py";
  }
  emitFailure(getFileLocation())
      << unsupported.size()
      << (unsupported.size() == 1 ? " operator is" : " operators are")
      << " not supported:" << text;
  return failure();
}

// --- Entry
// -------------------------------------------------------------------------

// A graph without the output is left as it is: the loss will tell.
static void keepOnly(const OnlyOutput &only, proto::GraphProto &graph,
                     Location location) {
  auto isKept = [&](const proto::ValueInfoProto &output) {
    return only.name.empty() ? &output == &graph.output(0)
                             : output.name() == only.name;
  };
  if (graph.output().empty() || llvm::none_of(graph.output(), isKept))
    return;
  std::string others;
  proto::ValueInfoProto kept;
  for (const proto::ValueInfoProto &output : graph.output())
    if (isKept(output))
      kept = output;
    else
      others += (others.empty() ? "'" : ", '") + output.name() + "'";
  if (others.empty())
    return;
  emitWarning(location) << "cannot compute all outputs; " << others
                        << ", which nothing trains, are left out: "
                        << only.reason;
  graph.clear_output();
  *graph.add_output() = kept;
}

// Classifiers give probabilities; losses take what those are made of.
static void addOutput(proto::GraphProto &graph, const std::string &name) {
  auto isNamed = [&](const std::string &each) { return each == name; };
  bool isOutput = llvm::any_of(graph.output(), [&](const auto &output) {
    return isNamed(output.name());
  });
  bool isValue = llvm::any_of(graph.node(), [&](const proto::NodeProto &node) {
    return llvm::any_of(node.output(), isNamed);
  });
  if (!name.empty() && !isOutput && isValue)
    graph.add_output()->set_name(name);
}

// Losses that begin with a softmax or a sigmoid take what stands before the
// model's own.
static LogicalResult checkScores(Location location,
                                 const proto::GraphProto &graph,
                                 std::string output) {
  if (output.empty() && graph.output_size() > 0)
    output = graph.output(0).name();
  std::string scores = findScores(graph, output);
  if (scores.empty())
    return success();
  if (holdsLabels(graph, output))
    return emitError(location)
           << "output '" << output
           << "' holds labels; the loss takes the scores that they are chosen "
              "by: --logits "
           << scores;
  emitWarning(location) << "output '" << output
                        << "' holds probabilities; the loss takes the scores "
                           "that they are made of: --logits "
                        << scores;
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> zc::importModel(MLIRContext *context,
                                                 ModelImportOptions options) {
  context->loadDialect<zc::onnx::OnnxDialect>();
  Location whole =
      FileLineColLoc::get(StringAttr::get(context, options.path), 0, 0);
  llvm::Expected<ModelFile> file =
      readModelFile(options.path, options.absentData ? AbsentData::Allowed
                                                     : AbsentData::Refused);
  if (!file)
    return emitError(whole) << llvm::toString(file.takeError());
  Location location =
      FileLineColLoc::get(StringAttr::get(context, file->name), 0, 0);
  addOutput(*file->model.mutable_graph(), options.innerOutput);
  if (options.scores &&
      failed(checkScores(location, file->model.graph(), *options.scores)))
    return failure();
  if (options.onlyOutput)
    keepOnly(*options.onlyOutput, *file->model.mutable_graph(), location);
  if (llvm::Error error =
          bindInputs(*file->model.mutable_graph(), options.constantInputs))
    return emitError(location) << llvm::toString(std::move(error));
  if (llvm::Error error =
          bindInputValues(*file->model.mutable_graph(), options.inputValues))
    return emitError(location)
           << "--input-value: " << llvm::toString(std::move(error));
  if (options.batch > 0) {
    auto change = setBatch(*file->model.mutable_graph(), options.batch,
                           options.batchDims, options.dims);
    if (!change)
      return emitError(location) << llvm::toString(change.takeError());
    options.batchChange = *change;
  }
  if (llvm::Error error =
          bindDims(*file->model.mutable_graph(), options.dims)) {
    emitError(location) << llvm::toString(std::move(error));
    // One run tells all there is to mend.
    GraphImporter(context, *file, options, {}).checkOperators();
    return failure();
  }
  bindEmptyInputs(*file->model.mutable_graph());
  warnOfExport(location, *file);
  warnOfEvaluationMode(location, file->model, options);
  LiftedWeights weights = liftWeights(
      *file, readTensorMetadata(file->model.graph()), options.mayBeTrained);
  // A number that an input always has is no weight.
  for (const auto &[name, path] : options.constantInputs)
    weights.changing.erase(name);
  return GraphImporter(context, *file, options, weights).import();
}
