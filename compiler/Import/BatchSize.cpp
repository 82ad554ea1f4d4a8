#include "compiler/Import/BatchSize.h"

#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/Types.h"

#include <set>

using namespace zc;
using Dimension = proto::TensorShapeProto::Dimension;

// --- Inputs
// -------------------------------------------------------------------------

static bool isFixed(const Dimension &dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

static bool isSame(const Dimension &a, const Dimension &b) {
  if (isFixed(a) || isFixed(b))
    return isFixed(a) && isFixed(b) && a.dim_value() == b.dim_value();
  return a.dim_param() == b.dim_param();
}

static Dimension *getDim(proto::ValueInfoProto &value, int64_t index) {
  if (!value.type().has_tensor_type() ||
      !value.type().tensor_type().has_shape() || index < 0 ||
      index >= value.type().tensor_type().shape().dim_size())
    return nullptr;
  return value.mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(index);
}

namespace {
class BatchSetter {
public:
  BatchSetter(proto::GraphProto &graph, int64_t batch,
              const std::map<std::string, int64_t> &batchDims,
              std::map<std::string, int64_t> &sizes)
      : graph(graph), batch(batch), batchDims(batchDims), sizes(sizes) {}

  llvm::Expected<BatchChange> run();

private:
  std::vector<Dimension *> listInputs();
  const Dimension *findReference(llvm::ArrayRef<Dimension *> inputs);
  llvm::Error set(Dimension &dim);

  proto::GraphProto &graph;
  int64_t batch;
  const std::map<std::string, int64_t> &batchDims;
  std::map<std::string, int64_t> &sizes;
};
} // namespace

// The dim of each input that could count samples.
std::vector<Dimension *> BatchSetter::listInputs() {
  std::set<std::string> initializers;
  for (const proto::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  std::vector<Dimension *> dims;
  for (proto::ValueInfoProto &input : *graph.mutable_input()) {
    auto given = batchDims.find(input.name());
    int64_t index = given == batchDims.end() ? 0 : given->second;
    if (Dimension *dim = getDim(input, index);
        dim && !initializers.count(input.name()))
      dims.push_back(dim);
  }
  return dims;
}

const Dimension *
BatchSetter::findReference(llvm::ArrayRef<Dimension *> inputs) {
  for (proto::ValueInfoProto &input : *graph.mutable_input())
    if (auto given = batchDims.find(input.name());
        given != batchDims.end() && given->second >= 0)
      return getDim(input, given->second);
  Dimension *output =
      graph.output_size() ? getDim(*graph.mutable_output(0), 0) : nullptr;
  for (Dimension *input : inputs)
    if (output && isSame(*output, *input))
      return output;
  return inputs.empty() ? nullptr : inputs.front();
}

llvm::Error BatchSetter::set(Dimension &dim) {
  if (isFixed(dim) || dim.dim_param().empty()) {
    dim.set_dim_value(batch);
    return llvm::Error::success();
  }
  auto [known, isNew] = sizes.insert({dim.dim_param(), batch});
  if (!isNew && known->second != batch)
    return llvm::createStringError("--batch gives '" + dim.dim_param() + "' " +
                                   std::to_string(batch) + ", and --dim " +
                                   std::to_string(known->second));
  return llvm::Error::success();
}

llvm::Expected<BatchChange> BatchSetter::run() {
  std::vector<Dimension *> inputs = listInputs();
  const Dimension *found = findReference(inputs);
  if (!found)
    return llvm::createStringError(
        "--batch: no input has a dim that counts samples; say where they are "
        "with --batch-dim INPUT=K");
  Dimension reference = *found;
  for (Dimension *dim : inputs)
    if (isSame(reference, *dim))
      if (llvm::Error error = set(*dim))
        return error;
  for (proto::ValueInfoProto &output : *graph.mutable_output())
    if (Dimension *dim = getDim(output, 0);
        dim && isFixed(reference) && isSame(reference, *dim))
      dim->set_dim_value(batch);
  return BatchChange{isFixed(reference) ? reference.dim_value() : 0, batch};
}

llvm::Expected<BatchChange>
zc::setBatch(proto::GraphProto &graph, int64_t batch,
             const std::map<std::string, int64_t> &batchDims,
             std::map<std::string, int64_t> &sizes) {
  return BatchSetter(graph, batch, batchDims, sizes).run();
}

// --- Shapes that the exporter has written as numbers
// ------------------------------

// A Reshape's sizes, had the model been exported with the new batch.
static void followReshape(Dims &sizes, const Dims &operand,
                          const BatchChange &change) {
  auto scale = [&](int64_t &size) {
    size = size / change.before * change.after;
  };
  int64_t elements = getNumElements(operand), given = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    given *= sizes[i] == 0 && i < operand.size() ? operand[i] : sizes[i];
  if (llvm::is_contained(sizes, -1)) {
    // The size that is left open is a sample's.
    if (sizes[0] > 0 && sizes[0] % change.before == 0 && !operand.empty() &&
        operand[0] % change.after == 0)
      scale(sizes[0]);
    return;
  }
  if (given == elements || given * change.after != elements * change.before)
    return;
  for (int64_t &size : sizes)
    if (size > 0 && size % change.before == 0)
      return scale(size);
}

ImportedValue *GraphImporter::followBatch(const proto::NodeProto &node,
                                          const Outputs &inputs) {
  const BatchChange &change = options.batchChange;
  ImportedValue *shape = inputs.size() > 1 ? inputs[1] : nullptr;
  bool isReshape = node.op_type() == "Reshape";
  if (change.before <= 0 || change.before == change.after || !shape ||
      !node.domain().empty() || !(isReshape || node.op_type() == "Expand") ||
      !shape->constant || inputs[0]->kind != ImportedValue::Tensor ||
      (isReshape && inputs[0]->stored)) // a weight has no samples
    return nullptr;
  Dims operand = getStaticDims(inputs[0]->type).value_or(Dims()), sizes;
  for (int64_t i = 0; i < shape->constant->dense().getNumStored(); ++i)
    sizes.push_back(shape->constant->dense().getInt(i));
  Dims before = sizes;
  if (sizes.empty())
    return nullptr;
  if (isReshape)
    followReshape(sizes, operand, change);
  else if (sizes[0] == change.before && change.before > 1 &&
           (operand.size() < sizes.size() || operand[0] == 1 ||
            operand[0] == change.after))
    sizes[0] = change.after;
  return sizes == before ? nullptr
                         : makeConstant(shape->name, HostTensor::ofInts(sizes));
}
