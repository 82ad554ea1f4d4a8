// Experts of which a router chooses some for each token.
#include "compiler/Import/Contrib/ContribOperators.h"

#include <limits>

using namespace zc;
using llvm::Error;
using llvm::Expected;

enum Operand { Input, Router, W1, B1, W2, B2, W3, B3 };

namespace {
/// A call's tokens, each of which goes to `chosen` experts: a row for each.
struct Rows {
  int64_t tokens, hidden, chosen;
  std::string experts; // [rows]
  std::string weights; // [rows, 1]
};
} // namespace

static Expected<Rows> addRouter(ContribCall &call) {
  Dims input = call.dims(Input), router = call.dims(Router);
  Rows rows;
  rows.hidden = input.back();
  rows.tokens = 1;
  for (size_t i = 0; i + 1 < input.size(); ++i)
    rows.tokens *= input[i];
  rows.chosen = call.getInt("k", 1);
  if (rows.chosen < 1 || rows.chosen > router.back())
    return refuse("chooses ", std::to_string(rows.chosen), " of ",
                  std::to_string(router.back()), " experts");
  std::string logits =
      call.reshape(call.operand(Router), {rows.tokens, router.back()});
  // The softmax over the chosen experts alone equals the softmax over all,
  // divided by the sum of the chosen.
  bool normalizes = call.getInt("normalize_routing_weights", 0) != 0;
  auto softmax = [&](const std::string &x) {
    return call.add("Softmax", {x}, {attribute("axis", int64_t(-1))});
  };
  auto best = call.addMany(
      "TopK", {normalizes ? logits : softmax(logits), call.ints({rows.chosen})},
      {attribute("axis", int64_t(-1))}, 2);
  int64_t count = rows.tokens * rows.chosen;
  rows.weights =
      call.reshape(normalizes ? softmax(best[0]) : best[0], {count, 1});
  rows.experts = call.reshape(best[1], {count});
  return rows;
}

static std::string lookUp(ContribCall &call, unsigned operand,
                          const Rows &rows) {
  return call.add("Gather", {call.operand(operand), rows.experts},
                  {attribute("axis", int64_t(0))});
}

/// Each row of x by the matrix of its expert, which is stored transposed, plus
/// its bias.
static std::string addProduct(ContribCall &call, const Rows &rows,
                              const std::string &x, unsigned weights,
                              unsigned bias) {
  int64_t count = rows.tokens * rows.chosen;
  Dims dims = call.dims(weights);
  std::string product = call.add(
      "MatMul", {call.reshape(x, {count, 1, dims[2]}),
                 call.transpose(lookUp(call, weights, rows), {0, 2, 1})});
  product = call.reshape(product, {count, dims[1]});
  return call.has(bias) ? call.add("Add", {product, lookUp(call, bias, rows)})
                        : product;
}

/// (clamped gate) sigmoid(alpha gate) (clamped linear + beta).
static std::string addGated(ContribCall &call, std::string gate,
                            std::string linear) {
  double alpha = call.getFloat("activation_alpha", 1);
  double beta = call.getFloat("activation_beta", 0);
  if (call.find("swiglu_limit")) {
    double limit = call.getFloat("swiglu_limit", 0);
    std::string most = call.number(limit, gate);
    gate = call.add("Clip", {gate, "", most});
    linear = call.add("Clip", {linear, call.number(-limit, linear), most});
  }
  std::string open = call.add(
      "Sigmoid",
      {alpha == 1 ? gate : call.add("Mul", {gate, call.number(alpha, gate)})});
  if (beta != 0)
    linear = call.add("Add", {linear, call.number(beta, linear)});
  return call.add("Mul", {call.add("Mul", {gate, open}), linear});
}

/// The two halves of a fused product: beside each other, or one after the
/// other.
static Expected<std::string> addFusedGate(ContribCall &call, const Rows &rows,
                                          const std::string &x) {
  int64_t count = rows.tokens * rows.chosen, width = call.dims(W1)[1] / 2;
  if (call.getInt("swiglu_fusion", 0) == 2) {
    auto halves = call.split(x, 1, {width, width});
    return addGated(call, halves[0], halves[1]);
  }
  std::string pairs = call.reshape(x, {count, width, 2});
  auto half = [&](int64_t index) {
    return call.reshape(call.slice(pairs, 2, index, index + 1), {count, width});
  };
  return addGated(call, half(0), half(1));
}

static Expected<std::string> addHidden(ContribCall &call, const Rows &rows,
                                       const std::string &x) {
  std::string name = call.getString("activation_type");
  bool fused = call.getInt("swiglu_fusion", 0) != 0;
  std::string hidden = addProduct(call, rows, x, W1, B1);
  if (name == "swiglu" && fused)
    return addFusedGate(call, rows, hidden);
  if (name == "swiglu" && call.has(W3))
    return addGated(call, hidden, addProduct(call, rows, x, W3, B3));
  std::string active;
  if (name.empty() || name == "relu")
    active = call.add("Relu", {hidden});
  else if (name == "gelu")
    active = call.add("Gelu", {hidden}, // as ONNX Runtime's CPUs compute it
                      {attribute("approximate", std::string("tanh"))});
  else if (name == "silu")
    active = call.add("Mul", {hidden, call.add("Sigmoid", {hidden})});
  else if (name == "identity")
    active = hidden;
  else
    return refuse("has activation_type '", name, "'",
                  name == "swiglu" ? " with swiglu_fusion 0 and no fc3" : "",
                  "; expected relu, gelu, silu, identity, or swiglu with "
                  "swiglu_fusion 1 or 2 or with fc3");
  return call.has(W3)
             ? call.add("Mul", {active, addProduct(call, rows, x, W3, B3)})
             : active;
}

Error zc::buildMoE(ContribCall &call) {
  if (call.getInt("use_sparse_mixer", 0))
    return refuse("has use_sparse_mixer, whose gate is not differentiable; "
                  "expected 0: the k largest of a softmax");
  if (call.dims(Input).size() < 2 || call.dims(W1).size() != 3 ||
      call.dims(W2).size() != 3)
    return refuse("expected inputs of 2 or 3 dims and weights of 3: of each "
                  "expert a matrix");
  Expected<Rows> rows = addRouter(call);
  if (!rows)
    return rows.takeError();
  // Each token once for each of its experts.
  Dims each = {rows->tokens, rows->chosen, rows->hidden};
  std::string x = call.add(
      "Expand",
      {call.reshape(call.operand(Input), {rows->tokens, 1, rows->hidden}),
       call.ints({each.begin(), each.end()})});
  Expected<std::string> hidden = addHidden(call, *rows, x);
  if (!hidden)
    return hidden.takeError();
  std::string weighted = call.add(
      "Mul", {addProduct(call, *rows, *hidden, W2, B2), rows->weights});
  std::string sum =
      call.add("ReduceSum", {call.reshape(weighted, each), call.ints({1})},
               {attribute("keepdims", int64_t(0))});
  call.give(0, call.reshape(sum, call.dims(Input)));
  return Error::success();
}

Error zc::buildQMoE(ContribCall &) {
  return refuse("holds quantised experts for inference, which have no "
                "gradients; export the model before it is quantised, with "
                "com.microsoft.MoE or transformers' "
                "experts_implementation=\"batched_mm\"");
}
