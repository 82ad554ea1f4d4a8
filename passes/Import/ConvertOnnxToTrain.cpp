//===- ConvertOnnxToTrain.cpp - the model as the program @forward ---------===//
//
// The pass owns the frame: the program, its arguments and results. Only a
// node's lowering (Lowering/) knows how the node is computed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Onnx/Location.h"
#include "passes/Import/EmptyTensors.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include "passes/Import/Passes.h"
#include "passes/Import/States.h"
#include "llvm/ADT/SetVector.h"

namespace zc {
#define GEN_PASS_DEF_CONVERTONNXTOTRAINPASS
#include "passes/Import/Passes.h.inc"
} // namespace zc

using namespace mlir;
using namespace zc;

// --- Checks before any work ------------------------------------------------

static LogicalResult checkOperators(onnx::GraphOp graph) {
  SmallVector<onnx::NodeOp> unsupported;
  for (onnx::NodeOp node : graph.getOps<onnx::NodeOp>())
    if (!LoweringRegistry::get().isSupported(node.getDomain(), node.getOpType(),
                                             node.getSinceVersion()))
      unsupported.push_back(node);
  if (unsupported.empty())
    return success();
  llvm::SetVector<StringRef> names;
  for (onnx::NodeOp node : unsupported)
    names.insert(node.getOpType());
  InFlightDiagnostic error = emitNodeError(unsupported.front())
                             << "unsupported operator";
  if (names.size() > 1)
    error << "s: " << llvm::join(names, ", ");
  for (onnx::NodeOp node : unsupported) {
    StringRef domain = node.getDomain();
    error.attachNote(node.getLoc())
        << onnx::describe(node.getLoc()) << ": no lowering for '"
        << node.getOpType() << "' of "
        << (domain.empty() ? "ONNX's own domain" : domain) << ", version "
        << node.getSinceVersion();
  }
  return failure();
}

static constexpr StringLiteral kSupportedTypes =
    "zc computes with f64, f32, f16, bf16, integers and bool";

static bool isTrainType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  Type element = tensor.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.isSignless() || integer.isUnsigned();
  return element.isF32() || element.isF64() || element.isF16() ||
         element.isBF16();
}

static LogicalResult checkTypes(onnx::NodeOp node) {
  auto all = llvm::concat<Value>(node.getInputs(), node.getOutputs());
  for (Value value : all)
    if (!isa<NoneType>(value.getType()) && !isTrainType(value.getType()))
      return emitNodeError(node)
             << "uses a " << value.getType() << "; " << kSupportedTypes;
  return success();
}

// --- The program -----------------------------------------------------------

namespace {
class GraphLowering {
public:
  GraphLowering(onnx::GraphOp graph, func::FuncOp forward,
                const LoweringOptions &options)
      : graph(graph), forward(forward), options(options),
        body(*forward.addEntryBlock()), states(graph, body),
        builder(OpBuilder::atBlockEnd(&body)) {}

  LogicalResult run();
  unsigned getNumNodes() const { return numNodes; }
  unsigned getNumStates() const { return states.getNumStates(); }

private:
  LogicalResult addInputs();
  LogicalResult lower(onnx::NodeOp node);
  Value lookup(Value value);
  bool hasAllOperands(onnx::NodeOp node);
  void finishBody();
  LogicalResult checkSizes();
  void annotate();

  onnx::GraphOp graph;
  func::FuncOp forward;
  const LoweringOptions &options;
  Block &body;
  States states;
  OpBuilder builder;
  InputRanges ranges;
  DenseMap<Value, Value> values;
  unsigned numNodes = 0;
};
} // namespace

Value GraphLowering::lookup(Value value) {
  if (auto initializer = value.getDefiningOp<onnx::InitializerOp>())
    return states.get(initializer);
  return values.lookup(value);
}

// False behind a node that failed; one message is enough for both.
bool GraphLowering::hasAllOperands(onnx::NodeOp node) {
  return llvm::all_of(node.getInputs(), [&](Value input) {
    return isa<NoneType>(input.getType()) ||
           input.getDefiningOp<onnx::InitializerOp>() || values.lookup(input);
  });
}

LogicalResult GraphLowering::lower(onnx::NodeOp node) {
  if (!hasAllOperands(node) || failed(checkTypes(node)))
    return failure();
  const auto find = [&](Value value) { return lookup(value); };
  NodeContext context(node, builder, options, ranges, find);
  const LoweringFunction *lowering = LoweringRegistry::get().find(
      node.getDomain(), node.getOpType(), node.getSinceVersion());
  if (failed((*lowering)(context)))
    return failure();
  for (auto [result, value] :
       llvm::zip(node.getResults(), context.getResults())) {
    assert((value || result.use_empty()) &&
           "a lowering sets every used result");
    values[result] = value;
  }
  ++numNodes;
  return success();
}

// Ends the body; what has no elements and what no output needs goes, last op
// first.
void GraphLowering::finishBody() {
  SmallVector<Value> outputs;
  for (Value output : graph.getReturn().getOutputs())
    outputs.push_back(lookup(output));
  func::ReturnOp::create(builder, graph.getReturn().getLoc(), outputs);
  foldEmptyTensors(body);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  forward.setType(FunctionType::get(graph.getContext(), body.getArgumentTypes(),
                                    body.getTerminator()->getOperandTypes()));
}

// Every tensor of a program has elements: no kernel has to ask.
LogicalResult GraphLowering::checkSizes() {
  bool good = true;
  for (Operation &op : body.without_terminator()) {
    if (isa<train::ConstantOp>(op) ||
        (!llvm::any_of(op.getOperandTypes(), isEmptyTensor) &&
         !llvm::any_of(op.getResultTypes(), isEmptyTensor)))
      continue;
    emitError(op.getLoc()) << "computes with a tensor without elements, which "
                              "means nothing here; every dim must be at least "
                              "1";
    good = false;
  }
  Operation *end = body.getTerminator();
  for (auto [index, type] : llvm::enumerate(end->getOperandTypes())) {
    if (!isEmptyTensor(type))
      continue;
    emitError(graph.getLoc())
        << "output '" << graph.getOutputName(index) << "' is a tensor without "
        << "elements, " << type << "; zc writes none: take it out of the "
        << "model's outputs";
    good = false;
  }
  return success(good);
}

// Binds arguments and results to the model's inputs and outputs.
void GraphLowering::annotate() {
  auto setBatchDim = [&](std::optional<ArrayRef<int64_t>> dims, unsigned index,
                         auto set) {
    if (dims && (*dims)[index] >= 0)
      set(builder.getI64IntegerAttr((*dims)[index]));
  };
  unsigned numInputs = graph.getBody().getNumArguments();
  unsigned firstInput = forward.getNumArguments() - numInputs;
  for (unsigned input = 0; input < numInputs; ++input) {
    unsigned index = firstInput + input;
    forward.setArgAttr(index, train::kInputAttr,
                       builder.getStringAttr(graph.getInputName(input)));
    setBatchDim(graph.getBatchDims(), input, [&](Attribute dim) {
      forward.setArgAttr(index, train::kBatchDimAttr, dim);
    });
    if (Attribute range = ranges.get(body.getArgument(index)))
      forward.setArgAttr(index, train::kRangeAttr, range);
  }
  for (unsigned index = 0; index < forward.getNumResults(); ++index) {
    forward.setResultAttr(index, train::kOutputAttr,
                          builder.getStringAttr(graph.getOutputName(index)));
    setBatchDim(graph.getOutputBatchDims(), index, [&](Attribute dim) {
      forward.setResultAttr(index, train::kBatchDimAttr, dim);
    });
  }
}

LogicalResult GraphLowering::addInputs() {
  for (BlockArgument input : graph.getBody().getArguments()) {
    if (!isTrainType(input.getType()))
      return emitError(graph.getLoc())
             << "input '" << graph.getInputName(input.getArgNumber())
             << "' is a " << input.getType() << "; " << kSupportedTypes;
    values[input] = body.addArgument(input.getType(), input.getLoc());
  }
  return success();
}

LogicalResult GraphLowering::run() {
  if (failed(addInputs()))
    return failure();
  // Nodes after one that failed are tried too: one run tells all there is.
  bool good = true;
  for (onnx::NodeOp node : graph.getOps<onnx::NodeOp>())
    good &= succeeded(lower(node));
  if (!good)
    return failure();
  finishBody();
  if (failed(checkSizes()) || failed(states.finish(forward)))
    return failure();
  annotate();
  return success();
}

namespace {
struct ConvertOnnxToTrainPass
    : public zc::impl::ConvertOnnxToTrainPassBase<ConvertOnnxToTrainPass> {
  using ConvertOnnxToTrainPassBase::ConvertOnnxToTrainPassBase;

  /// Only lowerings ask which sums are rounded numbers.
  static void forgetRoundings(func::FuncOp forward) {
    forward.walk([](train::AddOp sum) { sum.setRounded(false); });
  }

  void runOnOperation() override {
    auto graphs = llvm::to_vector(getOperation().getOps<onnx::GraphOp>());
    if (graphs.size() != 1) {
      getOperation().emitError("expected one onnx.graph, found ")
          << graphs.size();
      return signalPassFailure();
    }
    onnx::GraphOp graph = graphs.front();
    if (failed(checkOperators(graph)))
      return signalPassFailure();
    OpBuilder builder(graph);
    auto forward =
        func::FuncOp::create(builder, graph.getLoc(), train::kForwardProgram,
                             builder.getFunctionType({}, {}));
    LoweringOptions options{frozenBatchNorm, dropout};
    GraphLowering lowering(graph, forward, options);
    if (failed(lowering.run()))
      return signalPassFailure();
    forgetRoundings(forward);
    numNodes += lowering.getNumNodes();
    numStates += lowering.getNumStates();
    graph.erase();
  }
};
} // namespace
