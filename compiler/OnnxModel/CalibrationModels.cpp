#include "compiler/OnnxModel/CalibrationModels.h"
#include "compiler/OnnxModel/Proto.h"

#include <array>
#include <cmath>
#include <limits>

using namespace zc;

namespace {

using Dims = std::vector<int64_t>;

/// Grows node by node; every value is called after its node.
class Graph {
public:
  explicit Graph(const std::string &name) {
    model.set_ir_version(10);
    model.add_opset_import()->set_version(20);
    graph().set_name(name);
  }

  void input(const std::string &name, proto::TensorProto::DataType type,
             const Dims &dims) {
    declare(*graph().add_input(), name, type, dims);
  }

  /// One whose data is in a file that is not there.
  std::string weight(const std::string &name, const Dims &dims) {
    proto::TensorProto &tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(proto::TensorProto::FLOAT);
    tensor.set_data_location(proto::TensorProto::EXTERNAL);
    int64_t bytes = 4;
    for (int64_t dim : dims) {
      tensor.add_dims(dim);
      bytes *= dim;
    }
    external(tensor, "location", "weights");
    external(tensor, "offset", std::to_string(offset));
    external(tensor, "length", std::to_string(bytes));
    offset += bytes;
    return name;
  }

  std::string numbers(const Dims &values) {
    proto::TensorProto &tensor = constant(proto::TensorProto::INT64);
    tensor.add_dims(int64_t(values.size()));
    for (int64_t value : values)
      tensor.add_int64_data(value);
    return tensor.name();
  }

  /// A scalar.
  std::string number(int64_t value) {
    proto::TensorProto &tensor = constant(proto::TensorProto::INT64);
    tensor.add_int64_data(value);
    return tensor.name();
  }

  std::string floats(const Dims &dims, const std::vector<float> &values) {
    proto::TensorProto &tensor = constant(proto::TensorProto::FLOAT);
    for (int64_t dim : dims)
      tensor.add_dims(dim);
    for (float value : values)
      tensor.add_float_data(value);
    return tensor.name();
  }

  std::string add(const std::string &op, const std::vector<std::string> &inputs,
                  const std::string &output = "") {
    proto::NodeProto &node = *graph().add_node();
    node.set_op_type(op);
    node.set_name("n" + std::to_string(graph().node_size()) + "_" + op);
    for (const std::string &each : inputs)
      node.add_input(each);
    node.add_output(output.empty() ? node.name() : output);
    return node.output(0);
  }

  void set(const std::string &name, const Dims &values) {
    proto::AttributeProto &attribute = newAttribute(name);
    attribute.set_type(proto::AttributeProto::INTS);
    for (int64_t value : values)
      attribute.add_ints(value);
  }
  void set(const std::string &name, int64_t value) {
    proto::AttributeProto &attribute = newAttribute(name);
    attribute.set_type(proto::AttributeProto::INT);
    attribute.set_i(value);
  }

  std::string turn(const std::string &value, const Dims &order) {
    const std::string turned = add("Transpose", {value});
    set("perm", order);
    return turned;
  }

  /// x W^T + b, W [columns, rows] as PyTorch has it.
  std::string linear(const std::string &name, const std::string &x,
                     int64_t rows, int64_t columns, bool hasBias = true) {
    const std::string product = add(
        "MatMul", {x, turn(weight(name + ".weight", {columns, rows}), {1, 0})});
    return hasBias ? add("Add", {product, weight(name + ".bias", {columns})})
                   : product;
  }

  /// With a filter [to, from, size, size] and a bias.
  std::string convolve(const std::string &name, const std::string &x,
                       const Dims &filter, int64_t stride, int64_t pad) {
    const int64_t size = filter[2];
    const std::string y =
        add("Conv",
            {x, weight(name + ".weight", {filter[0], filter[1], size, size}),
             weight(name + ".bias", {filter[0]})});
    set("kernel_shape", Dims{size, size});
    set("strides", Dims{stride, stride});
    set("pads", Dims(4, pad));
    return y;
  }

  std::string finish(const Dims &dims) {
    declare(*graph().add_output(), "logits", proto::TensorProto::FLOAT, dims);
    return model.SerializeAsString();
  }

private:
  proto::GraphProto &graph() { return *model.mutable_graph(); }
  static void declare(proto::ValueInfoProto &info, const std::string &name,
                      proto::TensorProto::DataType type, const Dims &dims) {
    info.set_name(name);
    auto &tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (int64_t dim : dims)
      tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  static void external(proto::TensorProto &tensor, const char *key,
                       const std::string &value) {
    proto::StringStringEntryProto &entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  proto::TensorProto &constant(proto::TensorProto::DataType type) {
    proto::TensorProto &tensor = *graph().add_initializer();
    tensor.set_name("constant" + std::to_string(graph().initializer_size()));
    tensor.set_data_type(type);
    return tensor;
  }
  proto::AttributeProto &newAttribute(const std::string &name) {
    proto::NodeProto &node = *graph().mutable_node()->rbegin();
    proto::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    return attribute;
  }

  proto::ModelProto model;
  int64_t offset = 0;
};

class Language {
public:
  explicit Language(const LanguageSizes &sizes)
      : sizes(sizes), graph("language") {}

  std::string build() {
    const auto [batch, length, width, heads, layers, vocabulary, kind] = sizes;
    graph.input("tokens", proto::TensorProto::INT64, {batch, length});
    std::string x = graph.add(
        "Gather", {graph.weight("wte.weight", {vocabulary, width}), "tokens"});
    x = graph.add("Add", {x, graph.weight("wpe.weight", {length, width})});
    if (kind != LanguageSizes::Encoder)
      makeMask();
    addHead(applyLayers(x));
    return graph.finish({batch, length, vocabulary});
  }

  /// On patches instead of tokens; the vocabulary are the classes.
  std::string build(const PatchSizes &image) {
    const auto [batch, length, width, heads, layers, classes, kind] = sizes;
    graph.input("x", proto::TensorProto::FLOAT,
                {batch, 3, image.size, image.size});
    std::string x =
        graph.convolve("patches", "x", {width, 3, image.patch}, image.patch, 0);
    x = graph.add("Reshape", {x, graph.numbers({batch, width, length - 1})});
    x = graph.turn(x, {0, 2, 1});
    const std::string token =
        graph.add("Expand", {graph.weight("token", {1, 1, width}),
                             graph.numbers({batch, 1, width})});
    x = graph.add("Concat", {token, x});
    graph.set("axis", 1);
    x = graph.add("Add", {x, graph.weight("positions", {length, width})});
    x = graph.add("Gather", {applyLayers(x), graph.number(0)});
    graph.set("axis", 1);
    addHead(x);
    return graph.finish({batch, classes});
  }

private:
  std::string applyLayers(std::string x) {
    for (int64_t i = 0; i < sizes.layers; ++i) {
      const std::string layer = "h." + std::to_string(i);
      x = graph.add("Add", {x, attend(layer + ".attn", norm(layer + ".1", x))});
      x = graph.add("Add", {x, widen(layer, norm(layer + ".2", x))});
    }
    return x;
  }

  void addHead(const std::string &x) {
    const std::string head = graph.turn(
        graph.weight("head.weight", {sizes.vocabulary, sizes.width}), {1, 0});
    graph.add("MatMul", {norm("last", x), head}, "logits");
  }

  void makeMask() {
    std::vector<float> values;
    for (int64_t i = 0; i < sizes.length; ++i)
      for (int64_t j = 0; j < sizes.length; ++j)
        values.push_back(j > i ? -std::numeric_limits<float>::infinity() : 0);
    mask = graph.floats({sizes.length, sizes.length}, values);
  }

  std::string norm(const std::string &name, const std::string &x) {
    const std::string scale = graph.weight(name + ".weight", {sizes.width});
    if (!isGated()) {
      const std::string normed =
          graph.add("LayerNormalization",
                    {x, scale, graph.weight(name + ".bias", {sizes.width})});
      graph.set("axis", -1);
      return normed;
    }
    const std::string mean = graph.add(
        "ReduceMean", {graph.add("Mul", {x, x}), graph.numbers({-1})});
    const std::string root = graph.add(
        "Sqrt", {graph.add("Add", {mean, graph.floats({}, {1e-5F})})});
    return graph.add("Mul", {graph.add("Div", {x, root}), scale});
  }

  bool isGated() const { return sizes.kind == LanguageSizes::GatedDecoder; }

  /// Query, key and value [batch, heads, length, depth] by a product each.
  std::array<std::string, 3> divide(const std::string &name,
                                    const std::string &x) {
    const int64_t width = sizes.width, depth = width / sizes.heads;
    const std::string split =
        graph.numbers({sizes.batch, sizes.length, sizes.heads, depth});
    auto part = [&](const char *which) {
      const std::string value =
          graph.linear(name + which, x, width, width, !isGated());
      return graph.turn(graph.add("Reshape", {value, split}), {0, 2, 1, 3});
    };
    return {part(".q"), part(".k"), part(".v")};
  }

  /// The same by one product for all.
  std::array<std::string, 3> divideTogether(const std::string &name,
                                            const std::string &x) {
    const int64_t width = sizes.width, depth = width / sizes.heads;
    const std::string all = graph.turn(
        graph.add("Reshape", {graph.linear(name, x, width, 3 * width),
                              graph.numbers({sizes.batch, sizes.length, 3,
                                             sizes.heads, depth})}),
        {2, 0, 3, 1, 4});
    auto part = [&](int64_t which) {
      const std::string value = graph.add("Gather", {all, graph.number(which)});
      graph.set("axis", 0);
      return value;
    };
    return {part(0), part(1), part(2)};
  }

  std::string attend(const std::string &name, const std::string &x) {
    const int64_t width = sizes.width, depth = width / sizes.heads;
    const auto [q, k, v] =
        mask.empty() ? divideTogether(name + ".qkv", x) : divide(name, x);
    std::string scores = graph.add("MatMul", {q, graph.turn(k, {0, 1, 3, 2})});
    scores = graph.add(
        "Mul", {scores, graph.floats({}, {1 / std::sqrt(float(depth))})});
    if (!mask.empty())
      scores = graph.add("Add", {scores, mask});
    scores = graph.add("Softmax", {scores});
    graph.set("axis", -1);
    const std::string mixed =
        graph.turn(graph.add("MatMul", {scores, v}), {0, 2, 1, 3});
    const std::string flat = graph.add(
        "Reshape", {mixed, graph.numbers({sizes.batch, sizes.length, width})});
    return graph.linear(name + ".out", flat, width, width, !isGated());
  }

  std::string gelu(const std::string &x) {
    if (sizes.kind != LanguageSizes::Encoder)
      return graph.add("Gelu", {x});
    const std::string ratio =
        graph.add("Div", {x, graph.floats({}, {std::sqrt(2.0F)})});
    const std::string share =
        graph.add("Add", {graph.add("Erf", {ratio}), graph.floats({}, {1})});
    return graph.add("Mul",
                     {graph.add("Mul", {x, share}), graph.floats({}, {0.5F})});
  }

  std::string widen(const std::string &name, const std::string &x) {
    const int64_t width = sizes.width, hidden = 4 * width;
    if (!isGated()) {
      const std::string wide = graph.linear(name + ".fc", x, width, hidden);
      return graph.linear(name + ".proj", gelu(wide), hidden, width);
    }
    const std::string gate =
        graph.linear(name + ".gate", x, width, 3 * width, false);
    const std::string up =
        graph.linear(name + ".up", x, width, 3 * width, false);
    const std::string silu =
        graph.add("Mul", {gate, graph.add("Sigmoid", {gate})});
    return graph.linear(name + ".down", graph.add("Mul", {silu, up}), 3 * width,
                        width, false);
  }

  const LanguageSizes sizes;
  Graph graph;
  std::string mask;
};

} // namespace

std::string zc::makeLanguageModel(const LanguageSizes &sizes) {
  return Language(sizes).build();
}

std::string zc::makePatchModel(const PatchSizes &sizes) {
  const int64_t patches = sizes.size / sizes.patch;
  LanguageSizes tokens{
      sizes.batch,  patches * patches + 1, sizes.width,           sizes.heads,
      sizes.layers, sizes.classes,         LanguageSizes::Encoder};
  return Language(tokens).build(sizes);
}

std::string zc::makeDenseModel(int64_t batch, const Dims &widths,
                               const std::string &activation) {
  Graph graph("dense");
  graph.input("x", proto::TensorProto::FLOAT, {batch, widths.front()});
  std::string x = "x";
  for (size_t i = 1; i < widths.size(); ++i) {
    const bool isLast = i + 1 == widths.size();
    const std::string weight = graph.weight(
        "fc" + std::to_string(i) + ".weight", {widths[i], widths[i - 1]});
    const std::string bias =
        graph.weight("fc" + std::to_string(i) + ".bias", {widths[i]});
    x = graph.add("Gemm", {x, weight, bias}, isLast ? "logits" : "");
    graph.set("transB", 1);
    if (!isLast)
      x = graph.add(activation, {x});
  }
  return graph.finish({batch, widths.back()});
}

namespace {
/// A convolution of 3 x 3, or of 1 x 1, and a batch norm.
std::string convolve(Graph &graph, const std::string &name,
                     const std::string &x, int64_t from, int64_t to,
                     int64_t size, int64_t stride) {
  const std::string y = graph.add(
      "Conv", {x, graph.weight(name + ".weight", {to, from, size, size})});
  graph.set("kernel_shape", Dims{size, size});
  graph.set("strides", Dims{stride, stride});
  graph.set("pads", Dims(4, size / 2));
  std::vector<std::string> inputs = {y};
  for (const char *each : {".scale", ".shift"})
    inputs.push_back(graph.weight(name + each, {to}));
  inputs.push_back(graph.floats({to}, std::vector<float>(size_t(to), 0)));
  inputs.push_back(graph.floats({to}, std::vector<float>(size_t(to), 1)));
  return graph.add("BatchNormalization", inputs);
}
} // namespace

std::string zc::makeImageModel(const ImageSizes &sizes) {
  Graph graph("image");
  graph.input("x", proto::TensorProto::FLOAT,
              {sizes.batch, 3, sizes.size, sizes.size});
  int64_t channels = sizes.channels;
  std::string x =
      graph.add("Relu", {convolve(graph, "stem", "x", 3, channels, 3, 1)});
  for (int64_t i = 0; i < sizes.blocks; ++i) {
    const std::string block = "block" + std::to_string(i);
    const int64_t to = i == 0 ? channels : 2 * channels;
    const int64_t stride = i == 0 ? 1 : 2;
    std::string y = convolve(graph, block + ".1", x, channels, to, 3, stride);
    y = convolve(graph, block + ".2", graph.add("Relu", {y}), to, to, 3, 1);
    if (i > 0)
      x = convolve(graph, block + ".short", x, channels, to, 1, stride);
    x = graph.add("Relu", {graph.add("Add", {x, y})});
    channels = to;
  }
  x = graph.add("Flatten", {graph.add("GlobalAveragePool", {x})});
  const std::string weight =
      graph.weight("head.weight", {sizes.classes, channels});
  graph.add("Gemm", {x, weight, graph.weight("head.bias", {sizes.classes})},
            "logits");
  graph.set("transB", 1);
  return graph.finish({sizes.batch, sizes.classes});
}

namespace {

class Pixels {
public:
  explicit Pixels(const ImageSizes &sizes) : sizes(sizes), graph("pixels") {}

  std::string build() {
    graph.input("x", proto::TensorProto::FLOAT,
                {sizes.batch, 3, sizes.size, sizes.size});
    const std::string x = descend("x", 3, sizes.channels, sizes.size, 0);
    graph.add(
        "Identity",
        {graph.convolve("head", x, {sizes.classes, sizes.channels, 1}, 1, 0)},
        "logits");
    return graph.finish({sizes.batch, sizes.classes, sizes.size, sizes.size});
  }

private:
  /// A level with all below it, from so many channels to so many.
  std::string descend(const std::string &x, int64_t from, int64_t to,
                      int64_t size, int64_t depth) {
    const std::string name = "level" + std::to_string(depth);
    const std::string here = convolveTwice(name + ".down", x, from, to, size);
    if (depth == sizes.blocks)
      return here;
    const std::string half = graph.add("MaxPool", {here});
    graph.set("kernel_shape", Dims{2, 2});
    graph.set("strides", Dims{2, 2});
    const std::string below = descend(half, to, 2 * to, size / 2, depth + 1);
    const std::string raised = graph.add(
        "ConvTranspose", {below, graph.weight(name + ".up", {2 * to, to, 2, 2}),
                          graph.weight(name + ".upbias", {to})});
    graph.set("kernel_shape", Dims{2, 2});
    graph.set("strides", Dims{2, 2});
    const std::string both = graph.add("Concat", {raised, here});
    graph.set("axis", 1);
    return convolveTwice(name + ".join", both, 2 * to, to, size);
  }

  std::string convolveTwice(const std::string &name, const std::string &x,
                            int64_t from, int64_t to, int64_t size) {
    return convolve(name + ".2", convolve(name + ".1", x, from, to, size), to,
                    to, size);
  }

  /// As PyTorch exports a group norm of two groups.
  std::string convolve(const std::string &name, const std::string &x,
                       int64_t from, int64_t to, int64_t size) {
    std::string y = graph.convolve(name, x, {to, from, 3}, 1, 1);
    y = graph.add("Reshape", {y, graph.numbers({sizes.batch, 2, -1})});
    y = graph.add("InstanceNormalization",
                  {y, graph.floats({2}, {1, 1}), graph.floats({2}, {0, 0})});
    y = graph.add("Reshape", {y, graph.numbers({sizes.batch, to, size, size})});
    y = graph.add("Mul", {y, graph.weight(name + ".scale", {to, 1, 1})});
    y = graph.add("Add", {y, graph.weight(name + ".shift", {to, 1, 1})});
    return graph.add("Mul", {y, graph.add("Sigmoid", {y})});
  }

  const ImageSizes sizes;
  Graph graph;
};

} // namespace

std::string zc::makePixelModel(const ImageSizes &sizes) {
  return Pixels(sizes).build();
}
