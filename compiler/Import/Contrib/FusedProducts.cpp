// Activations, and products with what stands behind them.
#include "compiler/Import/Contrib/ContribOperators.h"

#include <numeric>

using namespace zc;
using llvm::Error;

// --- GELU
// -----------------------------------------------------------------------

static std::string addGelu(ContribCall &call, const std::string &x,
                           const char *approximate) {
  return call.add("Gelu", {x},
                  {attribute("approximate", std::string(approximate))});
}

Error zc::buildBiasGelu(ContribCall &call) {
  std::string sum = call.add("Add", {call.operand(0), call.operand(1)});
  call.give(0, addGelu(call, sum, "none"));
  return Error::success();
}

Error zc::buildGelu(ContribCall &call) {
  call.give(0, addGelu(call, call.operand(0), "none"));
  return Error::success();
}

Error zc::buildFastGelu(ContribCall &call) {
  std::string x = call.operand(0);
  if (call.has(1))
    x = call.add("Add", {x, call.operand(1)});
  call.give(0, addGelu(call, x, "tanh"));
  return Error::success();
}

Error zc::buildQuickGelu(ContribCall &call) {
  std::string x = call.operand(0);
  std::string alpha = call.number(call.getFloat("alpha", 1.702), x);
  std::string gate = call.add("Sigmoid", {call.add("Mul", {x, alpha})});
  call.give(0, call.add("Mul", {x, gate}));
  return Error::success();
}

// --- Activations by name
// --------------------------------------------------------

// `settings`: of the activation, in ONNX Runtime's order.
static llvm::Expected<std::string>
addActivation(ContribCall &call, const std::string &x,
              const std::vector<double> &settings) {
  std::string name = call.getString("activation");
  auto setting = [&](size_t index, double otherwise) {
    return float(index < settings.size() ? settings[index] : otherwise);
  };
  if (name.empty())
    return x;
  for (const char *plain : {"Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"})
    if (name == plain)
      return call.add(plain, {x});
  if (name == "LeakyRelu")
    return call.add("LeakyRelu", {x}, {attribute("alpha", setting(0, 0.01))});
  if (name == "Elu")
    return call.add("Elu", {x}, {attribute("alpha", setting(0, 1))});
  if (name == "HardSigmoid")
    return call.add("HardSigmoid", {x},
                    {attribute("alpha", setting(0, 0.2)),
                     attribute("beta", setting(1, 0.5))});
  if (name == "HardSwish")
    return call.add("HardSwish", {x});
  if (name == "Clip")
    return call.add("Clip", {x, call.number(setting(0, -3.4e38), x),
                             call.number(setting(1, 3.4e38), x)});
  return refuse("expected an activation of Relu, Tanh, Sigmoid, Softplus, "
                "Softsign, LeakyRelu, Elu, HardSigmoid, HardSwish or Clip, "
                "found '",
                name, "'");
}

static std::vector<double> getNamedSettings(const ContribCall &call) {
  std::vector<double> settings;
  for (const char *name :
       {"activation_alpha", "activation_beta", "activation_gamma"})
    if (call.find(name))
      settings.push_back(call.getFloat(name, 0));
  return settings;
}

static Error giveActivated(ContribCall &call, const std::string &x,
                           const std::vector<double> &settings) {
  auto result = addActivation(call, x, settings);
  if (!result)
    return result.takeError();
  call.give(0, *result);
  return Error::success();
}

// --- Products
// -------------------------------------------------------------------

// The matrix that a FusedMatMul's flags make of an operand.
static std::string addFlipped(ContribCall &call, unsigned operand, bool flip,
                              bool flipBatch) {
  std::string x = call.operand(operand);
  int64_t rank = call.dims(operand).size();
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  // The first dim moves behind the others of the batch.
  if (flipBatch && rank > 2)
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (flip && rank > 1)
    std::swap(order[rank - 1], order[rank - 2]);
  return std::is_sorted(order.begin(), order.end()) ? x
                                                    : call.transpose(x, order);
}

Error zc::buildFusedMatMul(ContribCall &call) {
  std::string product =
      call.add("MatMul", {addFlipped(call, 0, call.getInt("transA", 0),
                                     call.getInt("transBatchA", 0)),
                          addFlipped(call, 1, call.getInt("transB", 0),
                                     call.getInt("transBatchB", 0))});
  double alpha = call.getFloat("alpha", 1);
  if (alpha != 1)
    product = call.add("Mul", {product, call.number(alpha, product)});
  return giveActivated(call, product, getNamedSettings(call));
}

Error zc::buildFusedGemm(ContribCall &call) {
  ContribCall::Names operands = {call.operand(0), call.operand(1)};
  if (call.has(2))
    operands.push_back(call.operand(2));
  std::string product =
      call.add("Gemm", operands,
               {attribute("alpha", float(call.getFloat("alpha", 1))),
                attribute("beta", float(call.getFloat("beta", 1))),
                attribute("transA", call.getInt("transA", 0)),
                attribute("transB", call.getInt("transB", 0))});
  return giveActivated(call, product, getNamedSettings(call));
}

Error zc::buildFusedConv(ContribCall &call) {
  ContribCall::Names operands = {call.operand(0), call.operand(1)};
  if (call.has(2))
    operands.push_back(call.operand(2));
  ContribCall::Attributes attributes;
  for (const char *name :
       {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
    if (const proto::AttributeProto *given = call.find(name))
      attributes.push_back(*given);
  std::string image = call.add("Conv", operands, attributes);
  if (call.has(3))
    image = call.add("Add", {image, call.operand(3)});
  return giveActivated(call, image, call.getFloats("activation_params"));
}

Error zc::buildBiasSoftmax(ContribCall &call) {
  int64_t rank = call.dims(0).size(), axis = call.getInt("axis", 1);
  if (axis != -1 && axis != rank - 1)
    return refuse("expected a softmax along the last dim, found axis ",
                  std::to_string(axis), " of ", std::to_string(rank));
  std::string sum = call.add("Add", {call.operand(0), call.operand(1)});
  call.give(0, call.add("Softmax", {sum}, {attribute("axis", rank - 1)}));
  return Error::success();
}
