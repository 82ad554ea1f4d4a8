#include "compiler/Import/BatchDims.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace zc;

static int64_t getDim(Type type, int64_t dim) {
  auto shaped = cast<ShapedType>(type);
  return dim >= 0 && dim < shaped.getRank() ? shaped.getDimSize(dim) : -1;
}

static std::string listInputs(zc::onnx::GraphOp graph) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(
      llvm::enumerate(graph.getBody().getArguments()), os, [&](auto each) {
        auto type = cast<ShapedType>(each.value().getType());
        os << "'" << graph.getInputName(each.index()) << "' [";
        llvm::interleaveComma(type.getShape(), os);
        os << "]";
      });
  return text;
}

// The size that counts samples, as far as the model tells; -1 otherwise.
static FailureOr<int64_t> findDefaultSize(zc::onnx::GraphOp graph,
                                          const BatchOptions &options) {
  auto ofFirstInput = [&]() -> int64_t {
    return graph.getBody().getNumArguments()
               ? getDim(graph.getBody().getArgument(0).getType(), 0)
               : -1;
  };
  if (options.fromFirstInput || graph.getReturn().getOutputs().empty())
    return ofFirstInput();
  unsigned index = 0, count = graph.getOutputNames().size();
  while (!options.logits.empty() && index < count &&
         graph.getOutputName(index) != options.logits)
    ++index;
  if (index == count)
    return graph.emitError()
           << "has no output '" << options.logits << "'; its outputs are "
           << llvm::join(llvm::map_range(
                             graph.getOutputNames().getAsRange<StringAttr>(),
                             [](StringAttr name) {
                               return "'" + name.getValue().str() + "'";
                             }),
                         ", ");
  // One number for the whole batch, such as a loss, says nothing of samples.
  Type type = graph.getReturn().getOutputs()[index].getType();
  if (cast<ShapedType>(type).getRank() || options.lossOfOutput)
    return getDim(type, 0);
  return ofFirstInput();
}

static LogicalResult checkNames(zc::onnx::GraphOp graph,
                                const BatchOptions &options) {
  for (const auto &[name, dim] : options.dims) {
    unsigned index = 0;
    while (index < graph.getInputNames().size() &&
           graph.getInputName(index) != name)
      ++index;
    if (index == graph.getInputNames().size())
      return graph.emitError() << "--batch-dim: no input is named '" << name
                               << "'; the inputs are " << listInputs(graph);
    Type type = graph.getBody().getArgument(index).getType();
    if (dim >= 0 && getDim(type, dim) < 0)
      return graph.emitError()
             << "--batch-dim " << name << "=" << dim << ": the input has "
             << cast<ShapedType>(type).getRank() << " dims";
  }
  return success();
}

// Every input's batch dim, or -1; `size` becomes the number of samples.
static FailureOr<SmallVector<int64_t>> chooseInputs(zc::onnx::GraphOp graph,
                                                    const BatchOptions &options,
                                                    int64_t &size) {
  SmallVector<int64_t> dims;
  std::optional<int64_t> given;
  for (BlockArgument input : graph.getBody().getArguments()) {
    auto choice =
        options.dims.find(graph.getInputName(input.getArgNumber()).str());
    if (choice != options.dims.end() && choice->second >= 0) {
      int64_t here = getDim(input.getType(), choice->second);
      if (given && *given != here)
        return graph.emitError()
               << "--batch-dim gives inputs different numbers of samples, "
               << *given << " and " << here << ": " << listInputs(graph);
      given = here;
    }
  }
  size = given.value_or(size);
  for (BlockArgument input : graph.getBody().getArguments()) {
    auto choice =
        options.dims.find(graph.getInputName(input.getArgNumber()).str());
    if (choice != options.dims.end())
      dims.push_back(choice->second);
    else
      dims.push_back(size > 0 && getDim(input.getType(), 0) == size ? 0 : -1);
  }
  return dims;
}

// Where `size` comes from, in brackets; nothing where no dim says it.
static std::string describeSize(const BatchOptions &options, int64_t size) {
  if (size < 0)
    return "";
  return std::string(" (dim 0 of the first ") +
         (options.fromFirstInput ? "input" : "output") + " is " +
         std::to_string(size) + ")";
}

LogicalResult zc::setBatchDims(zc::onnx::GraphOp graph,
                               const BatchOptions &options) {
  if (failed(checkNames(graph, options)))
    return failure();
  FailureOr<int64_t> found = findDefaultSize(graph, options);
  if (failed(found))
    return failure();
  int64_t size = *found;
  auto dims = chooseInputs(graph, options, size);
  if (failed(dims))
    return failure();
  bool none = llvm::all_of(*dims, [](int64_t dim) { return dim < 0; });
  bool asked = llvm::any_of(options.dims,
                            [](const auto &each) { return each.second < 0; });
  if (none && !asked && !graph.getInputNames().empty())
    return graph.emitError()
           << "has no input whose dim 0 counts samples"
           << describeSize(options, size) << ": " << listInputs(graph)
           << "; say where they are with --batch-dim INPUT=K, or "
              "--batch-dim INPUT=none";
  SmallVector<int64_t> outputs;
  for (Type type : graph.getReturn().getOutputs().getTypes())
    outputs.push_back(!none && getDim(type, 0) == size ? 0 : -1);
  graph.setBatchDims(*dims);
  graph.setOutputBatchDims(outputs);
  return success();
}
