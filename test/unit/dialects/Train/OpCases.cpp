//===- OpCases.cpp - an example or more of every op of train --------------===//
#include "test/unit/dialects/Train/OpCases.h"

#include "dialects/Train/TrainDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using zc::interpreter::Tensor;

namespace zc::test {

static std::string unary(const std::string &name,
                         const std::string &attrs = "") {
  return "train." + name + " %0 " + attrs +
         ": (tensor<3x4xf64>) -> tensor<3x4xf64>";
}

static std::string binary(const std::string &name) {
  return "train." + name +
         " %0, %1 : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>";
}

static void addElementwise(std::vector<OpCase> &cases) {
  for (const char *name :
       {"neg",   "abs",      "exp",      "tanh",  "erf",          "sin",
        "cos",   "sigmoid",  "relu",     "gelu",  "softplus",     "atan",
        "floor", "ceil",     "round",    "expm1", "sinh",         "cosh",
        "asinh", "gaussian", "softsign", "mish",  "stop_gradient"})
    cases.push_back({unary(name), {{-2, 2}}});
  for (const char *name : {"tan", "asin", "acos", "atanh"})
    cases.push_back({unary(name), {{-0.9, 0.9}}});
  cases.push_back({unary("acosh"), {{1.1, 3}}});
  for (const char *alpha : {"1.0", "1.5"})
    cases.push_back(
        {unary("swish", std::string("{alpha = ") + alpha + " : f64} "),
         {{-2, 2}}});
  for (const char *name : {"log", "sqrt", "rsqrt"})
    cases.push_back({unary(name), {{0.3, 2}}});
  cases.push_back({unary("line", "{slope = 0.3 : f64, offset = -1.5 : f64} ")});
  cases.push_back({unary("gelu", "{tanh} "), {{-2, 2}}});
  cases.push_back({unary("dropout", "{ratio = 0.5} ")});
  cases.push_back({"train.dropout_training %0, %1, %2, %3 {ratio = 0.4} : "
                   "(tensor<3x4xf64>, tensor<3x4xi64>, tensor<3x4xi64>, "
                   "tensor<3x4xi64>) -> tensor<3x4xf64>",
                   {{-1, 1}, {7, 7}, {0, 99}, {0, 99}}});
  cases.push_back({"train.random_key %0, %1 : (tensor<8xi64>, tensor<8xi64>) "
                   "-> tensor<8xi64>",
                   {{0, 99}, {0, 99}}});
  for (const char *name :
       {"uniform %0, %1, %2 {bound = 0.5}", "normal %0, %1, %2 {std = 0.5}"})
    cases.push_back({std::string("train.random_") + name +
                         " : (tensor<3x4xi64>, tensor<3x4xi64>, "
                         "tensor<3x4xi64>) -> tensor<3x4xf64>",
                     {{7, 7}, {0, 99}, {0, 99}}});
  for (const char *name : {"add", "sub", "mul", "max", "min"})
    cases.push_back({binary(name)});
  cases.push_back({binary("div"), {{-1, 1}, {0.5, 2}}});
  cases.push_back({binary("pow"), {{0.3, 2}, {-2, 2}}});
  for (const char *name : {"gelu_grad", "mish_grad"})
    cases.push_back({binary(name), {{-2, 2}}});
  cases.push_back({"train.swish_grad %0, %1 {alpha = 1.5 : f64} : "
                   "(tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>",
                   {{-2, 2}}});
  cases.push_back({"train.gelu_grad %0, %1 {tanh} : (tensor<5xf64>, "
                   "tensor<5xf64>) -> tensor<5xf64>",
                   {{-2, 2}}});
  cases.push_back({"train.is_nan %0 : (tensor<4xf64>) -> tensor<4xi1>"});
  cases.push_back({"train.not %0 : (tensor<4xi1>) -> tensor<4xi1>", {{0, 1}}});
  for (const char *name : {"and", "or"})
    cases.push_back({std::string("train.") + name +
                         " %0, %1 : (tensor<8xi1>, tensor<8xi1>) -> "
                         "tensor<8xi1>",
                     {{0, 1}, {0, 1}}});
  for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
    cases.push_back({std::string("train.compare \"") + predicate +
                         "\" %0, %1 : (tensor<4x2xi32>, tensor<4x2xi32>) -> "
                         "tensor<4x2xi1>",
                     {{0, 2}, {0, 2}}});
  cases.push_back({"train.select %0, %1, %2 : (tensor<3x4xi1>, "
                   "tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>",
                   {{0, 1}}});
  cases.push_back({"train.convert %0 : (tensor<4xf64>) -> tensor<4xf32>"});
  cases.push_back(
      {"train.convert %0 : (tensor<4xi64>) -> tensor<4xf32>", {{-9, 9}}});
  cases.push_back(
      {"train.convert %0 : (tensor<4xui8>) -> tensor<4xf32>", {{0, 255}}});
}

static void addShapes(std::vector<OpCase> &cases) {
  cases.push_back({"train.constant dense<0.5> : tensor<4x2xf64>"});
  cases.push_back({"train.iota {stride = 4} : () -> tensor<3xi64>"});
  cases.push_back({"train.broadcast %0 {dims = array<i64: 1>} : (tensor<4xf64>)"
                   " -> tensor<3x4xf64>"});
  cases.push_back({"train.broadcast %0 {dims = array<i64: 0, 2>} : "
                   "(tensor<3x1xf64>) -> tensor<3x2x4xf64>"});
  cases.push_back({"train.broadcast %0 {dims = array<i64>} : (tensor<f64>) -> "
                   "tensor<2x3xf64>"});
  cases.push_back({"train.reshape %0 : (tensor<2x6x3xf64>) -> "
                   "tensor<2x2x3x3xf64>"});
  cases.push_back({"train.transpose %0 {permutation = array<i64: 2, 0, 1>} : "
                   "(tensor<2x3x4xf64>) -> tensor<4x2x3xf64>"});
  cases.push_back({"train.slice %0 {offsets = array<i64: 0, 1>, strides = "
                   "array<i64: 1, 2>} : (tensor<4x6xf64>) -> tensor<4x3xf64>"});
  cases.push_back({"train.pad %0 {low = array<i64: 0, 1>, interior = "
                   "array<i64: 0, 1>} : (tensor<4x3xf64>) -> tensor<4x8xf64>"});
  cases.push_back({"train.concat %0, %1, %2 {dim = 1 : i64} : (tensor<4x1xf64>,"
                   " tensor<4x3xf64>, tensor<4x2xf64>) -> tensor<4x6xf64>"});
  cases.push_back({"train.split %0 {dim = 1 : i64} : (tensor<4x6xf64>) -> "
                   "(tensor<4x1xf64>, tensor<4x3xf64>, tensor<4x2xf64>)"});
  for (const char *dim : {"0", "1", "2"}) {
    std::string packed[] = {"2x4x2", "9x1x2", "9x4x1"};
    std::string attrs = std::string(" %0 {dim = ") + dim + " : i64} : (tensor<";
    cases.push_back({"train.pack_bits" + attrs + "9x4x2xi1>) -> tensor<" +
                         packed[*dim - '0'] + "xi8>",
                     {{0, 1}}});
    cases.push_back({"train.unpack_bits" + attrs + packed[*dim - '0'] +
                         "xi8>) -> tensor<9x4x2xi1>",
                     {{-128, 127}}});
  }
  cases.push_back({"train.sparse_encode %0 : (tensor<3x7xf64>) -> "
                   "(tensor<3xi8>, tensor<2xi64>, tensor<30xf64>)"});
  cases.push_back({"train.sparse_decode %0, %1, %2 : (tensor<3xi8>, "
                   "tensor<2xi64>, tensor<30xf64>) -> tensor<3x7xf64>",
                   {{-128, 127}, {0, 0}}});
  for (const char *kind : {"sum", "max", "min", "prod", "sum_square"}) {
    std::string head = std::string("train.reduce \"") + kind + "\" %0 ";
    cases.push_back({head + "{dims = array<i64: 1>} : (tensor<3x4x2xf64>) -> "
                            "tensor<3x2xf64>"});
    cases.push_back({head + "{dims = array<i64: 0, 1>} : (tensor<3x4xf64>) -> "
                            "tensor<f64>"});
  }
  for (const char *kind : {"max", "min"})
    for (const char *type : {"i8", "i32", "i64", "i1"}) {
      std::string shape = std::string("x") + type + ">";
      cases.push_back({std::string("train.reduce \"") + kind +
                           "\" %0 {dims = array<i64: 1>} : (tensor<4x3" +
                           shape + ") -> tensor<4" + shape,
                       {{0, 1}}});
    }
}

static void addMatmuls(std::vector<OpCase> &cases) {
  cases.push_back({"train.matmul %0, %1 : (tensor<4x6xf64>, tensor<6x5xf64>) "
                   "-> tensor<4x5xf64>"});
  cases.push_back({"train.matmul %0, %1 {transpose_lhs} : (tensor<2x6x4xf64>, "
                   "tensor<2x6x5xf64>) -> tensor<2x4x5xf64>"});
  cases.push_back({"train.matmul %0, %1 {transpose_rhs} : (tensor<2x4x6xf64>, "
                   "tensor<2x5x6xf64>) -> tensor<2x4x5xf64>"});
  cases.push_back({"train.matmul %0, %1 {transpose_lhs, transpose_rhs} : "
                   "(tensor<6x4xf64>, tensor<5x6xf64>) -> tensor<4x5xf64>"});
  cases.push_back({"train.matmul_add %0, %1, %2 : (tensor<4x5xf64>, "
                   "tensor<4x6xf64>, tensor<6x5xf64>) -> tensor<4x5xf64>"});
  cases.push_back({"train.matmul_add %0, %1, %2 {transpose_lhs, transpose_rhs} "
                   ": (tensor<4x5xf64>, tensor<6x4xf64>, tensor<5x6xf64>) -> "
                   "tensor<4x5xf64>"});
}

/// conv, conv_input_grad and conv_filter_grad of one convolution.
static void addConvolution(std::vector<OpCase> &cases, const std::string &attrs,
                           const std::string &image, const std::string &filter,
                           const std::string &output) {
  auto add = [&](const std::string &name, const std::string &a,
                 const std::string &b, const std::string &result) {
    cases.push_back({"train." + name + " %0, %1 {" + attrs + "} : (tensor<" +
                     a + "xf64>, tensor<" + b + "xf64>) -> tensor<" + result +
                     "xf64>"});
  };
  add("conv", image, filter, output);
  add("conv_input_grad", output, filter, image);
  add("conv_filter_grad", image, output, filter);
}

static void addConvolutions(std::vector<OpCase> &cases) {
  addConvolution(cases,
                 "strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, "
                 "pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 2>, "
                 "groups = 1 : i64",
                 "2x3x4x3", "4x3x3x2", "2x4x4x4");
  addConvolution(cases,
                 "strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, "
                 "pads_low = array<i64: 1, 1>, pads_high = array<i64: 0, 1>, "
                 "groups = 2 : i64, channels_last",
                 "2x5x4x4", "2x2x2x2", "2x3x4x2");
  addConvolution(cases,
                 "strides = array<i64: 2>, dilations = array<i64: 1>, "
                 "pads_low = array<i64: 2>, pads_high = array<i64: 0>, "
                 "groups = 3 : i64",
                 "2x3x5", "3x1x3", "2x3x3");
  addConvolution(cases,
                 "strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, "
                 "1>, pads_low = array<i64: 0, 0, 0>, pads_high = array<i64: "
                 "0, 0, 0>, groups = 1 : i64, channels_last",
                 "2x2x3x2x2", "2x2x1x2x2", "2x2x2x1x2");
}

static void addPools(std::vector<OpCase> &cases) {
  auto add = [&](const std::string &attrs, const std::string &image,
                 const std::string &pooled) {
    std::string from = "tensor<" + image + "xf64>";
    std::string to = "tensor<" + pooled + "xf64>";
    cases.push_back(
        {"train.max_pool %0 {" + attrs + "} : (" + from + ") -> " + to});
    cases.push_back({"train.max_pool_grad %0, %1, %2 {" + attrs + "} : (" +
                     from + ", " + to + ", " + to + ") -> " + from});
    std::string places = "tensor<" + pooled + "xi8>";
    cases.push_back({"train.max_pool_places %0 {" + attrs + "} : (" + from +
                     ") -> (" + to + ", " + places + ")"});
    cases.push_back({"train.max_pool_places_grad %0, %1 {" + attrs + "} : (" +
                         places + ", " + to + ") -> " + from,
                     {{0, 2}}});
  };
  add("window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = "
      "array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: "
      "1, 1>",
      "2x3x5x4", "2x3x3x4");
  add("window = array<i64: 2, 2>, strides = array<i64: 1, 2>, dilations = "
      "array<i64: 2, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: "
      "0, 0>, channels_last",
      "2x4x4x3", "2x2x2x3");
  add("window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: "
      "1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>",
      "2x2x4", "2x2x4");
}

static void addAverages(std::vector<OpCase> &cases) {
  auto add = [&](const std::string &attrs, const std::string &image,
                 const std::string &pooled) {
    std::string from = "tensor<" + image + "xf64>";
    std::string to = "tensor<" + pooled + "xf64>";
    for (const char *counts : {"", ", count_include_pad"}) {
      std::string all = "{" + attrs + counts + "} : (";
      cases.push_back({"train.average_pool %0 " + all + from + ") -> " + to});
      cases.push_back(
          {"train.average_pool_grad %0 " + all + to + ") -> " + from});
    }
  };
  add("window = array<i64: 3, 2>, strides = array<i64: 2, 1>, pads_low = "
      "array<i64: 1, 0>, pads_high = array<i64: 1, 1>",
      "2x3x5x4", "2x3x3x4");
  add("window = array<i64: 2, 3>, strides = array<i64: 3, 2>, pads_low = "
      "array<i64: 0, 2>, pads_high = array<i64: 1, 1>, channels_last",
      "2x4x4x3", "2x2x3x3");
  add("window = array<i64: 3>, strides = array<i64: 1>, pads_low = array<i64: "
      "1>, pads_high = array<i64: 1>",
      "2x2x4", "2x2x4");
}

static void addNorms(std::vector<OpCase> &cases) {
  for (const char *dim : {"0", "1", "2"})
    cases.push_back({std::string("train.softmax %0 {dim = ") + dim +
                         " : i64} : (tensor<4x3x2xf64>) -> tensor<4x3x2xf64>",
                     {{-3, 3}}});
  cases.push_back(
      {"train.layer_norm %0, %1, %2 {axis = 1 : i64, epsilon = 1.0e-3 : f64} : "
       "(tensor<4x4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4x4xf64>, "
       "tensor<4xf64>, tensor<4xf64>)"});
  cases.push_back(
      {"train.layer_norm %0, %1, %2 {axis = 1 : i64, epsilon = 0.1 : f64} : "
       "(tensor<4x3x2xf64>, tensor<3x2xf64>, tensor<3x2xf64>) -> "
       "(tensor<4x3x2xf64>, tensor<4xf64>, tensor<4xf64>)"});
  cases.push_back(
      {"train.layer_norm_grad %0, %1, %2, %3, %4 {axis = 2 : i64} : "
       "(tensor<2x2x5xf64>, tensor<5xf64>, tensor<2x2xf64>, tensor<2x2xf64>, "
       "tensor<2x2x5xf64>) -> tensor<2x2x5xf64>"});
  struct Layout {
    std::string image, channels, dim;
  };
  for (const Layout &layout :
       {Layout{"4x3x2x2", "3", "1"}, Layout{"3x2x4", "4", "2"},
        Layout{"5x2", "2", "1"}, Layout{"2x260", "260", "1"},
        Layout{"2x3x1x2x2", "3", "1"}}) {
    std::string image = "tensor<" + layout.image + "xf64>";
    std::string per = "tensor<" + layout.channels + "xf64>";
    std::string attrs =
        " {channel_dim = " + layout.dim + " : i64, epsilon = 1.0e-2 : f64} : ";
    std::string pair = image + ", " + per + ", " + per;
    cases.push_back({"train.batch_norm %0, %1, %2, %3, %4" + attrs + "(" +
                         pair + ", " + per + ", " + per + ") -> " + image,
                     {{}, {}, {}, {}, {0.5, 2}}});
    cases.push_back({"train.batch_norm_training %0, %1, %2" + attrs + "(" +
                     pair + ") -> (" + pair + ")"});
    cases.push_back({"train.batch_norm_grad %0, %1, %2, %3, %4" + attrs + "(" +
                         pair + ", " + per + ", " + image + ") -> (" + pair +
                         ")",
                     {{}, {}, {}, {0.5, 2}}});
  }
}

static void addChannelSums(std::vector<OpCase> &cases) {
  const std::string image = "tensor<3x4x5xf64>", sums = "tensor<3x5xf64>";
  cases.push_back({"train.channel_moments %0 : (" + image + ") -> (" + sums +
                   ", " + sums + ")"});
  cases.push_back({"train.channel_products %0, %1, %2 : (" + image +
                   ", tensor<5xf64>, " + image + ") -> (" + sums + ", " + sums +
                   ")"});
}

static void addAttention(std::vector<OpCase> &cases) {
  auto add = [&](const std::string &queries, const std::string &keys,
                 const std::string &values, const std::string &results,
                 const std::string &sums, const std::string &attrs) {
    std::string q = "tensor<" + queries + "xf64>",
                k = "tensor<" + keys + "xf64>",
                v = "tensor<" + values + "xf64>",
                r = "tensor<" + results + "xf64>";
    std::string sum = "tensor<" + sums + "xf64>",
                three = q + ", " + k + ", " + v;
    cases.push_back({"train.attention %0, %1, %2 {scale = 0.7 : f64" + attrs +
                     "} : (" + three + ") -> (" + r + ", " + sum + ")"});
    // Probabilities are exp(scores - sums): neither huge nor tiny.
    cases.push_back({"train.attention_grad %0, %1, %2, %3, %4, %5 {scale = 0.7 "
                     ": f64" +
                         attrs + "} : (" + three + ", " + r + ", " + sum +
                         ", " + r + ") -> (" + three + ")",
                     {{}, {}, {}, {}, {1, 2}}});
  };
  add("2x4x2x3", "2x4x2x3", "2x4x2x3", "2x4x2x3", "2x2x4", ", causal");
  add("2x3x4x2", "2x5x4x2", "2x5x4x2", "2x3x4x2", "2x4x3", "");
  // Values that are not as wide as keys.
  add("2x4x2x3", "2x4x2x3", "2x4x2x5", "2x4x2x5", "2x2x4", ", causal");
}

static void addLosses(std::vector<OpCase> &cases) {
  // Among labels -1 to 3, -1 is the ignored one, and 3 is a class.
  cases.push_back({"train.softmax_cross_entropy %0, %1 {ignore_index = -1 : "
                   "i64} : (tensor<6x4xf64>, tensor<6xi64>) -> (tensor<6xf64>, "
                   "tensor<6xf64>)",
                   {{-3, 3}, {-1, 3}}});
  cases.push_back({"train.softmax_cross_entropy %0, %1 {ignore_index = -100 : "
                   "i64} : (tensor<2x3x5xf64>, tensor<2x3xi8>) -> "
                   "(tensor<2x3xf64>, tensor<2x3xf64>)",
                   {{-3, 3}, {0, 4}}});
  cases.push_back({"train.softmax_cross_entropy_grad %0, %1, %2, %3 "
                   "{ignore_index = -1 : i64} : (tensor<6x4xf64>, "
                   "tensor<6xi32>, tensor<6xf64>, tensor<6xf64>) -> "
                   "tensor<6x4xf64>",
                   {{-3, 3}, {-1, 3}}});
}

static void addIndexing(std::vector<OpCase> &cases) {
  // Indices from the end too, and some that are equal.
  cases.push_back({"train.gather %0, %1 {dim = 0 : i64} : (tensor<4x3xf64>, "
                   "tensor<2x5xi64>) -> tensor<2x5x3xf64>",
                   {{}, {-4, 3}}});
  cases.push_back({"train.gather %0, %1 {dim = 1 : i64} : (tensor<2x5x3xf64>, "
                   "tensor<4xi32>) -> tensor<2x4x3xf64>",
                   {{}, {-5, 4}}});
  cases.push_back({"train.gather %0, %1 {dim = 1 : i64} : (tensor<2x5xf64>, "
                   "tensor<i64>) -> tensor<2xf64>",
                   {{}, {0, 4}}});
  cases.push_back({"train.gather %0, %1 {dim = 2 : i64, batch_dims = 1 : i64} "
                   ": (tensor<4x3x6x2xf64>, tensor<4x2x3xi64>) -> "
                   "tensor<4x3x2x3x2xf64>",
                   {{}, {-6, 5}}});
  cases.push_back({"train.gather %0, %1 {dim = 2 : i64, batch_dims = 2 : i64} "
                   ": (tensor<2x3x5xf64>, tensor<2x3xi64>) -> "
                   "tensor<2x3xf64>",
                   {{}, {0, 4}}});
  cases.push_back({"train.scatter_add %0, %1, %2 {dim = 2 : i64, batch_dims = "
                   "1 : i64} : (tensor<4x3x6x2xf64>, tensor<4x2x3xi64>, "
                   "tensor<4x3x2x3x2xf64>) -> tensor<4x3x6x2xf64>",
                   {{}, {-6, 5}}});
  cases.push_back({"train.scatter_add %0, %1, %2 {dim = 0 : i64} : "
                   "(tensor<4x3xf64>, tensor<2x5xi64>, tensor<2x5x3xf64>) -> "
                   "tensor<4x3xf64>",
                   {{}, {-4, 3}}});
  cases.push_back({"train.scatter_add %0, %1, %2 {dim = 1 : i64} : "
                   "(tensor<2x5x3xf64>, tensor<4xi32>, tensor<2x4x3xf64>) -> "
                   "tensor<2x5x3xf64>",
                   {{}, {-5, 4}}});
  for (const char *kind : {"max", "min", "prod"}) {
    std::string head = std::string("train.scatter_reduce \"") + kind + "\" ";
    cases.push_back({head + "%0, %1, %2 {dim = 0 : i64} : (tensor<4x3xf64>, "
                            "tensor<2x5xi64>, tensor<2x5x3xf64>) -> "
                            "tensor<4x3xf64>",
                     {{}, {-4, 3}}});
    cases.push_back({head + "%0, %1, %2 {dim = 1 : i64} : (tensor<2x5x3xf64>, "
                            "tensor<4xi32>, tensor<2x4x3xf64>) -> "
                            "tensor<2x5x3xf64>",
                     {{}, {-5, 4}}});
  }
  cases.push_back({"train.scatter_reduce \"max\" %0, %1, %2 {dim = 1 : i64, "
                   "batch_dims = 1 : i64} : (tensor<4x5x3xf64>, "
                   "tensor<4x2xi64>, tensor<4x2x3xf64>) -> tensor<4x5x3xf64>",
                   {{}, {-5, 4}}});
  // Some indices are equal: the last update alone has a gradient.
  for (const char *types :
       {"{dim = 1 : i64} : (tensor<2x5x3xf64>, tensor<1xi64>, "
        "tensor<2x1x3xf64>) -> tensor<2x5x3xf64>",
        "{dim = 1 : i64} : (tensor<2x5x3xf64>, tensor<3x2xi32>, "
        "tensor<2x3x2x3xf64>) -> tensor<2x5x3xf64>",
        "{dim = 1 : i64, batch_dims = 1 : i64} : (tensor<4x5x3xf64>, "
        "tensor<4x8xi64>, tensor<4x8x3xf64>) -> tensor<4x5x3xf64>",
        "{dim = 2 : i64, batch_dims = 1 : i64} : (tensor<2x3x5xf64>, "
        "tensor<2x7xi64>, tensor<2x3x7xf64>) -> tensor<2x3x5xf64>"})
    cases.push_back(
        {std::string("train.scatter_reduce \"last\" %0, %1, %2 ") + types,
         {{}, {-5, 4}}});
  cases.push_back({"train.scatter_reduce \"max\" %0, %1, %2 {dim = 0 : i64} : "
                   "(tensor<4xi64>, tensor<6xi64>, tensor<6xi64>) -> "
                   "tensor<4xi64>",
                   {{-9, 9}, {0, 3}, {-9, 9}}});
}

// Some rows are of no expert.
static void addExperts(std::vector<OpCase> &cases) {
  auto add = [&](const std::string &op, const std::string &a,
                 const std::string &b, const std::string &c,
                 const std::string &attrs = "") {
    cases.push_back({"train." + op + " %0, %1, %2, %3 {experts = 6 : i64" +
                         attrs + "} : (tensor<" + a + "xf64>, tensor<" + b +
                         "xf64>, tensor<8xi64>, tensor<4xi32>) -> tensor<" + c +
                         "xf64>",
                     {{}, {}, {0, 3}, {0, 3}}});
  };
  add("grouped_matmul", "8x3", "4x3x5", "8x5");
  add("grouped_matmul", "8x3", "4x5x3", "8x5", ", transpose_weights");
  add("grouped_matmul_grad", "8x3", "8x5", "4x3x5");
  // Rows that are sorted, some of them empty.
  auto addSorted = [&](const std::string &op, const std::string &a,
                       const std::string &b, const std::string &c,
                       const std::string &attrs = "") {
    cases.push_back({"train." + op + " %0, %1, %2, %3 {experts = 4 : i64" +
                         attrs + "} : (tensor<" + a + "xf64>, tensor<" + b +
                         "xf64>, tensor<4x6xi64>, tensor<4xi64>) -> tensor<" +
                         c + "xf64>",
                     {{}, {}, {0, 1}, {1, 1}}});
  };
  addSorted("grouped_matmul", "4x6x3", "4x3x5", "4x6x5");
  addSorted("grouped_matmul", "4x6x3", "4x5x3", "4x6x5", ", transpose_weights");
  addSorted("grouped_matmul_grad", "4x6x3", "4x6x5", "4x3x5");
  cases.push_back({"train.expert_order %0, %1, %2 : (tensor<8xi64>, "
                   "tensor<4xi32>, tensor<4xi32>) -> tensor<8xi32>",
                   {{0, 3}, {0, 3}, {0, 8}}});
  cases.push_back({"train.expert_order %0, %1, %2 : (tensor<4x6xi64>, "
                   "tensor<4xi32>, tensor<4xi32>) -> tensor<24xi32>",
                   {{0, 1}, {1, 1}, {0, 24}}});
  cases.push_back({"train.expert_slots %0 {experts = 3 : i64, capacity = 2 : "
                   "i64, choices = 2 : i64} : (tensor<4x8xi64>) -> "
                   "(tensor<4x8xi32>, tensor<4x6xi32>, tensor<4x3xi32>)",
                   {{-1, 3}}});
  // A row is at one place at most: the gradient is that of what is exchanged.
  cases.push_back({"train.exchange_rows %0, %1, %2 : (tensor<4x1x3xf64>, "
                   "tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1x3xf64>",
                   {{}, {0, 0}, {0, 0}}});
  cases.push_back({"train.exchange_rows %0, %1, %2 : (tensor<4x1x3xf64>, "
                   "tensor<4x2xi32>, tensor<4x1xi32>) -> tensor<4x2x3xf64>",
                   {{}, {-1, -1}, {-1, -1}}});
  cases.push_back({"train.place_experts %0 {to_experts} : (tensor<4x2x3xf64>) "
                   "-> tensor<4x2x3xf64>"});
}

const std::vector<OpCase> &opCases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> all;
    addElementwise(all);
    addShapes(all);
    addMatmuls(all);
    addConvolutions(all);
    addPools(all);
    addAverages(all);
    addNorms(all);
    addChannelSums(all);
    addAttention(all);
    addExperts(all);
    addLosses(all);
    addIndexing(all);
    return all;
  }();
  return cases;
}

std::string caseName(size_t index) {
  std::string name = opCases()[index].opName().substr(sizeof("train"));
  return name + "_" + std::to_string(index);
}

/// "(a, b) -> (c, d)" after the last " : (", or " : c" of a constant.
static std::string wrapInFunction(const OpCase &opCase) {
  StringRef text = opCase.text;
  size_t colon = text.rfind(" : (");
  StringRef operands, results;
  if (colon == StringRef::npos)
    results = text.substr(text.rfind(" : ") + 3);
  else
    std::tie(operands, results) = text.substr(colon + 3).split(" -> ");
  operands = operands.trim("()");
  results = results.trim("()");
  // No type of a case has a comma in it.
  SmallVector<StringRef> types, resultTypes;
  operands.split(types, ", ", -1, /*KeepEmpty=*/false);
  results.split(resultTypes, ", ", -1, /*KeepEmpty=*/false);
  std::string function = "func.func @f(";
  for (auto [index, type] : llvm::enumerate(types))
    function +=
        (index ? ", %" : "%") + std::to_string(index) + ": " + type.str();
  function += ") -> (" + results.str() +
              ") {\n  %r:" + std::to_string(resultTypes.size()) + " = " +
              text.str() + "\n  return ";
  for (size_t index = 0; index < resultTypes.size(); ++index)
    function += (index ? ", %r#" : "%r#") + std::to_string(index);
  return function + " : " + results.str() + "\n}\n";
}

CaseProgram::CaseProgram(const OpCase &opCase) : opCase(opCase) {
  context.loadDialect<train::TrainDialect, func::FuncDialect>();
  module = parseSourceString<ModuleOp>(wrapInFunction(opCase), &context);
}

func::FuncOp CaseProgram::func() {
  return *module->getOps<func::FuncOp>().begin();
}

Operation *CaseProgram::op() { return &func().getBody().front().front(); }

bool isFloatTensor(Type type) {
  return isa<FloatType>(cast<RankedTensorType>(type).getElementType());
}

Tensor randomTensor(Type type, Range range, std::mt19937 &random) {
  auto tensor = cast<RankedTensorType>(type);
  size_t count = tensor.getNumElements();
  if (isFloatTensor(type)) {
    std::uniform_real_distribution<double> draw(range.low, range.high);
    std::vector<double> elements(count);
    for (double &element : elements)
      element = draw(random);
    return Tensor::ofFloats(tensor.getShape(), std::move(elements));
  }
  std::uniform_int_distribution<int64_t> draw(static_cast<int64_t>(range.low),
                                              static_cast<int64_t>(range.high));
  std::vector<int64_t> elements(count);
  for (int64_t &element : elements)
    element = draw(random);
  return Tensor::ofIntegers(tensor.getShape(), std::move(elements));
}

std::vector<Tensor> CaseProgram::inputs(unsigned seed) const {
  std::mt19937 random(seed);
  std::vector<Tensor> tensors;
  func::FuncOp func = *module.get().getOps<func::FuncOp>().begin();
  for (auto [index, type] : llvm::enumerate(func.getArgumentTypes())) {
    Range range = index < opCase.ranges.size() ? opCase.ranges[index] : Range();
    tensors.push_back(randomTensor(type, range, random));
  }
  return tensors;
}

} // namespace zc::test
