#include "compiler/OnnxModel/LinearModels.h"

#include "onnx/defs/attr_proto_util.h"
#include "llvm/ADT/StringRef.h"

using namespace zc;
using Names = std::vector<std::string>;

namespace {
/// One node on its way to others.
class LinearModel {
public:
  LinearModel(const proto::NodeProto &node, proto::GraphProto &graph,
              std::vector<proto::NodeProto> &nodes)
      : node(node), graph(graph), nodes(nodes),
        name(node.name().empty() ? node.output(0) : node.name()) {}

  /// False, and nothing is changed, where it does not fit.
  bool open();

private:
  const proto::AttributeProto *find(llvm::StringRef wanted) const;
  std::string getString(llvm::StringRef wanted) const;
  proto::NodeProto &add(const char *op, Names inputs, std::string output);
  std::string store(const char *what, const std::vector<float> &values,
                    std::vector<int64_t> dims);
  std::string addScores(int64_t rows);
  std::string addTransformed(const std::string &scores, std::string output);
  void openRegressor(int64_t rows);
  void openClassifier(int64_t rows, int64_t classes);
  void addLabels(const std::string &scores, int64_t rows);
  std::string output(int index) const {
    return index < node.output_size() ? node.output(index) : "";
  }

  const proto::NodeProto &node;
  proto::GraphProto &graph;
  std::vector<proto::NodeProto> &nodes;
  std::string name;
};
} // namespace

const proto::AttributeProto *LinearModel::find(llvm::StringRef wanted) const {
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == wanted)
      return &attribute;
  return nullptr;
}

std::string LinearModel::getString(llvm::StringRef wanted) const {
  const proto::AttributeProto *attribute = find(wanted);
  return attribute ? attribute->s() : "NONE";
}

proto::NodeProto &LinearModel::add(const char *op, Names inputs,
                                   std::string result) {
  proto::NodeProto &made = nodes.emplace_back();
  made.set_op_type(op);
  made.set_name(result);
  for (std::string &input : inputs)
    made.add_input(std::move(input));
  made.add_output(std::move(result));
  return made;
}

std::string LinearModel::store(const char *what,
                               const std::vector<float> &values,
                               std::vector<int64_t> dims) {
  proto::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name + "." + what);
  tensor.set_data_type(proto::TensorProto::FLOAT);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  for (float value : values)
    tensor.add_float_data(value);
  return tensor.name();
}

std::string LinearModel::addScores(int64_t rows) {
  const auto &coefficients = find("coefficients")->floats();
  const proto::AttributeProto *bias = find("intercepts");
  std::string weight =
      store("coefficients", {coefficients.begin(), coefficients.end()},
            {rows, coefficients.size() / rows});
  std::string floats = name + ".features", scores = name + ".scores";
  *add("Cast", {node.input(0)}, floats).add_attribute() =
      proto::MakeAttribute("to", int64_t(proto::TensorProto::FLOAT));
  Names operands = {floats, weight};
  if (bias && bias->floats_size() == rows)
    operands.push_back(store(
        "intercepts", {bias->floats().begin(), bias->floats().end()}, {rows}));
  *add("Gemm", operands, scores).add_attribute() =
      proto::MakeAttribute("transB", int64_t(1));
  return scores;
}

std::string LinearModel::addTransformed(const std::string &scores,
                                        std::string result) {
  std::string transform = getString("post_transform");
  if (transform == "SOFTMAX")
    *add("Softmax", {scores}, result).add_attribute() =
        proto::MakeAttribute("axis", int64_t(1));
  else
    add(transform == "LOGISTIC" ? "Sigmoid" : "Identity", {scores}, result);
  return result;
}

void LinearModel::openRegressor(int64_t rows) {
  addTransformed(addScores(rows), node.output(0));
}

// The class with the largest score; of two classes with one score the second
// where that is positive.
void LinearModel::addLabels(const std::string &scores, int64_t rows) {
  std::string best = name + ".best", classes = name + ".classes";
  if (rows > 1) {
    proto::NodeProto &largest = add("ArgMax", {scores}, best);
    *largest.add_attribute() = proto::MakeAttribute("axis", int64_t(1));
    *largest.add_attribute() = proto::MakeAttribute("keepdims", int64_t(0));
  } else {
    std::string zero = store("zero", {0}, {}), positive = name + ".positive";
    std::string one = name + ".column";
    add("Greater", {scores, zero}, positive);
    *add("Cast", {positive}, one).add_attribute() =
        proto::MakeAttribute("to", int64_t(proto::TensorProto::INT64));
    proto::TensorProto &all = *graph.add_initializer();
    all.set_name(name + ".flat");
    all.set_data_type(proto::TensorProto::INT64);
    all.add_dims(1);
    all.add_int64_data(-1);
    add("Reshape", {one, all.name()}, best);
  }
  const proto::AttributeProto *ints = find("classlabels_ints");
  bool areInts = ints && ints->ints_size();
  // Write labels as a tensor: Constant takes lists since opset 12 only.
  proto::TensorProto labels;
  labels.set_data_type(areInts ? proto::TensorProto::INT64
                               : proto::TensorProto::STRING);
  if (areInts)
    for (int64_t label : ints->ints())
      labels.add_int64_data(label);
  else
    for (const std::string &label : find("classlabels_strings")->strings())
      labels.add_string_data(label);
  labels.add_dims(areInts ? labels.int64_data_size()
                          : labels.string_data_size());
  *add("Constant", {}, classes).add_attribute() =
      proto::MakeAttribute("value", labels);
  *add("Gather", {classes, best}, node.output(0)).add_attribute() =
      proto::MakeAttribute("axis", int64_t(0));
}

// One score of two classes is that of the second; the first has what is left of
// 1, whatever the scores are, as in ONNX Runtime.
void LinearModel::openClassifier(int64_t rows, int64_t classes) {
  std::string scores = addScores(rows);
  if (!output(0).empty())
    addLabels(scores, rows);
  if (output(1).empty())
    return;
  if (rows == classes) {
    addTransformed(scores, output(1));
    return;
  }
  std::string second = addTransformed(scores, name + ".second");
  std::string first = name + ".first";
  add("Sub", {store("one", {1}, {}), second}, first);
  *add("Concat", {first, second}, output(1)).add_attribute() =
      proto::MakeAttribute("axis", int64_t(1));
}

bool LinearModel::open() {
  const proto::AttributeProto *coefficients = find("coefficients");
  std::string transform = getString("post_transform");
  bool isKnown =
      transform == "NONE" || transform == "LOGISTIC" || transform == "SOFTMAX";
  if (!coefficients || coefficients->floats_size() == 0 || !isKnown)
    return false;
  int64_t count = coefficients->floats_size();
  if (node.op_type() == "LinearRegressor") {
    const proto::AttributeProto *targets = find("targets");
    int64_t rows = targets ? targets->i() : 1;
    if (rows < 1 || count % rows != 0)
      return false;
    openRegressor(rows);
    return true;
  }
  const proto::AttributeProto *ints = find("classlabels_ints");
  const proto::AttributeProto *strings = find("classlabels_strings");
  int64_t classes = ints && ints->ints_size() ? ints->ints_size()
                    : strings                 ? strings->strings_size()
                                              : 0;
  const proto::AttributeProto *bias = find("intercepts");
  int64_t rows = bias && bias->floats_size() ? bias->floats_size() : classes;
  bool isBinary = classes == 2 && rows == 1;
  if (rows < 1 || (rows != classes && !isBinary) || count % rows != 0 ||
      (isBinary && transform == "SOFTMAX"))
    return false;
  openClassifier(rows, classes);
  return true;
}

void zc::openLinearModels(proto::GraphProto &graph) {
  std::vector<proto::NodeProto> nodes;
  bool changed = false;
  for (const proto::NodeProto &node : graph.node()) {
    bool isLinear = node.domain() == "ai.onnx.ml" && node.output_size() > 0 &&
                    (node.op_type() == "LinearRegressor" ||
                     node.op_type() == "LinearClassifier");
    if (isLinear && LinearModel(node, graph, nodes).open())
      changed = true;
    else
      nodes.push_back(node);
  }
  if (!changed)
    return;
  graph.clear_node();
  for (proto::NodeProto &node : nodes)
    *graph.add_node() = std::move(node);
}
