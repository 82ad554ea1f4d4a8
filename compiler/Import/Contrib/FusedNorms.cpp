// Normalisations with the sums in front of them.
#include "compiler/Import/Contrib/ContribOperators.h"

using namespace zc;
using llvm::Error;

constexpr double kEpsilon = 1e-12; // of the forms with a skip

// The sum of operand 0, the skip and a bias.
static std::string addSkip(ContribCall &call, unsigned skip, unsigned bias) {
  std::string sum = call.add("Add", {call.operand(0), call.operand(skip)});
  return call.has(bias) ? call.add("Add", {sum, call.operand(bias)}) : sum;
}

static void giveLayerNorm(ContribCall &call, const std::string &x,
                          unsigned scale, unsigned shift) {
  ContribCall::Names operands = {x, call.operand(scale)};
  if (call.has(shift))
    operands.push_back(call.operand(shift));
  auto results = call.addMany(
      "LayerNormalization", operands,
      {attribute("axis", int64_t(-1)),
       attribute("epsilon", float(call.getFloat("epsilon", kEpsilon)))},
      3);
  call.give(0, results[0]);
  if (call.wants(1))
    call.give(1, results[1]);
  if (call.wants(2))
    call.give(2, results[2]);
}

Error zc::buildSkipLayerNorm(ContribCall &call) {
  std::string sum = addSkip(call, 1, 4);
  giveLayerNorm(call, sum, 2, 3);
  call.give(3, sum);
  return Error::success();
}

static Error checkNoStatistics(const ContribCall &call,
                               std::initializer_list<unsigned> outputs) {
  for (unsigned output : outputs)
    if (call.wants(output))
      return refuse("gives its statistics as output ", std::to_string(output),
                    "; zc computes the normalised values alone");
  return Error::success();
}

static std::string addRmsNorm(ContribCall &call, const std::string &x,
                              unsigned scale, int64_t axis, double epsilon) {
  return call.add(
      "RMSNormalization", {x, call.operand(scale)},
      {attribute("axis", axis),
       attribute("epsilon", float(call.getFloat("epsilon", epsilon)))});
}

Error zc::buildSkipRmsNorm(ContribCall &call) {
  if (Error error = checkNoStatistics(call, {1, 2}))
    return error;
  std::string sum = addSkip(call, 1, 3);
  call.give(0, addRmsNorm(call, sum, 2, -1, kEpsilon));
  call.give(3, sum);
  return Error::success();
}

Error zc::buildRmsNorm(ContribCall &call) {
  if (Error error = checkNoStatistics(call, {1}))
    return error;
  call.give(
      0, addRmsNorm(call, call.operand(0), 1, call.getInt("axis", -1), 1e-5));
  return Error::success();
}

// --- Embeddings
// -----------------------------------------------------------------

Error zc::buildEmbedLayerNorm(ContribCall &call) {
  enum {
    Ids,
    Segments,
    Words,
    Positions,
    SegmentTable,
    Scale,
    Shift,
    Mask,
    PositionIds
  };
  Dims ids = call.dims(Ids);
  if (ids.size() != 2)
    return refuse("expected ids of 2 dims, found ", std::to_string(ids.size()));
  std::string places = call.has(PositionIds)
                           ? call.operand(PositionIds)
                           : call.reshape(call.iota(ids[1]), {1, ids[1]});
  auto look = [&](unsigned table, const std::string &where) {
    return call.add("Gather", {call.operand(table), where},
                    {attribute("axis", int64_t(0))});
  };
  std::string sum = call.add(
      "Add", {look(Words, call.operand(Ids)), look(Positions, places)});
  if (call.has(Segments) && call.has(SegmentTable))
    sum = call.add("Add", {sum, look(SegmentTable, call.operand(Segments))});
  auto norm = call.add(
      "LayerNormalization", {sum, call.operand(Scale), call.operand(Shift)},
      {attribute("axis", int64_t(-1)),
       attribute("epsilon", float(call.getFloat("epsilon", kEpsilon)))});
  call.give(0, norm);
  // How many tokens of each sample count.
  constexpr int32_t kInt32 = proto::TensorProto::INT32;
  std::string counts;
  if (call.has(Mask))
    counts = call.add("ReduceSum",
                      {call.cast(call.operand(Mask), kInt32), call.ints({1})},
                      {attribute("keepdims", int64_t(0))});
  else
    counts = call.cast(call.ints(std::vector<int64_t>(ids[0], 0)), kInt32);
  call.give(1, counts);
  call.give(2, sum);
  return Error::success();
}
