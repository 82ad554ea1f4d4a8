// The LSTM that ONNX Runtime's quantiser writes, by the standard one.
#include "compiler/Import/Contrib/ContribOperators.h"

using namespace zc;
using llvm::Error;
using Data = proto::TensorProto;
using Names = ContribCall::Names;

// One number for each direction, or for each direction and gate, in line with
// weights of [directions, terms, gates].
static std::string alongGates(ContribCall &call, unsigned operand,
                              int64_t directions) {
  int64_t count = getNumElements(call.dims(operand));
  return call.reshape(call.cast(call.operand(operand), Data::FLOAT),
                      {directions, 1, count / directions});
}

// The weights that the integers stand for, as LSTM wants them: [directions,
// gates, terms].
static std::string addWeights(ContribCall &call, unsigned weight,
                              unsigned scale, unsigned zero) {
  int64_t directions = call.dims(weight)[0];
  std::string real = call.cast(call.operand(weight), Data::FLOAT);
  if (call.has(zero))
    real = call.add("Sub", {real, alongGates(call, zero, directions)});
  real = call.add("Mul", {real, alongGates(call, scale, directions)});
  return call.transpose(real, {0, 2, 1});
}

// ONNX Runtime rounds the sequence and every state to eight bits besides. Here
// they stay floats: nearer to the model that was quantised, and differentiable.
Error zc::buildDynamicQuantizeLSTM(ContribCall &call) {
  enum {
    Input,
    Weight,
    Recurrence,
    Bias,
    Peepholes = 7,
    WeightScale,
    WeightZero,
    RecurrenceScale,
    RecurrenceZero
  };
  if (call.dims(Weight).size() != 3 || call.dims(Recurrence).size() != 3)
    return refuse("expected weights of 3 dims");
  Names operands = {
      call.operand(Input), addWeights(call, Weight, WeightScale, WeightZero),
      addWeights(call, Recurrence, RecurrenceScale, RecurrenceZero)};
  for (unsigned index = Bias; index <= Peepholes; ++index)
    operands.push_back(call.operand(index));
  while (operands.back().empty())
    operands.pop_back();
  ContribCall::Attributes attributes;
  for (const char *name : {"activations", "activation_alpha", "activation_beta",
                           "clip", "direction", "hidden_size", "input_forget"})
    if (const proto::AttributeProto *given = call.find(name))
      attributes.push_back(*given);
  Names results = call.addMany("LSTM", operands, attributes, 3);
  for (unsigned index = 0; index < results.size(); ++index)
    if (call.wants(index))
      call.give(index, results[index]);
  return Error::success();
}
