// Operators of ai.onnx.ml that prepare features, as scikit-learn's converters
// write them.
#include "compiler/Import/Contrib/ContribOperators.h"

#include <cmath>

using namespace zc;
using llvm::Error;
using Data = proto::TensorProto;

static std::string addFloats(ContribCall &call,
                             const std::vector<double> &values) {
  return call.add(
      "Constant", {},
      {attribute("value_floats",
                 std::vector<float>(values.begin(), values.end()))});
}

// These operators take numbers of any type and give floats.
static std::string addInput(ContribCall &call, unsigned index = 0) {
  return call.elementType(index) == Data::FLOAT
             ? call.operand(index)
             : call.cast(call.operand(index), Data::FLOAT);
}

Error zc::buildScaler(ContribCall &call) {
  std::string x = addInput(call);
  std::vector<double> offset = call.getFloats("offset");
  std::vector<double> scale = call.getFloats("scale");
  if (!offset.empty())
    x = call.add("Sub", {x, addFloats(call, offset)});
  if (!scale.empty())
    x = call.add("Mul", {x, addFloats(call, scale)});
  call.give(0, x);
  return Error::success();
}

Error zc::buildBinarizer(ContribCall &call) {
  std::string x = call.operand(0);
  std::string above =
      call.add("Greater", {x, call.number(call.getFloat("threshold", 0), x)});
  call.give(0, call.add("CastLike", {above, x}));
  return Error::success();
}

// Each row by its largest, its sum or its length; a row of zeros stays.
Error zc::buildNormalizer(ContribCall &call) {
  std::string norm = call.getString("norm"), x = addInput(call);
  const char *op = norm == "L1"                    ? "ReduceL1"
                   : norm == "L2"                  ? "ReduceL2"
                   : norm == "MAX" || norm.empty() ? "ReduceMax"
                                                   : nullptr;
  if (!op)
    return refuse("expected the norm MAX, L1 or L2, found '", norm, "'");
  std::string size =
      call.add(op, {x, call.ints({int64_t(call.dims(0).size()) - 1})});
  std::string zero = call.number(0, x), one = call.number(1, x);
  std::string safe =
      call.add("Where", {call.add("Equal", {size, zero}), one, size});
  call.give(0, call.add("Div", {x, safe}));
  return Error::success();
}

// The columns of x that the second operand names.
Error zc::buildArrayFeatureExtractor(ContribCall &call) {
  int64_t rank = call.dims(0).size();
  std::string places =
      call.reshape(call.operand(1), {getNumElements(call.dims(1))});
  std::string taken = call.add("Gather", {call.operand(0), places},
                               {attribute("axis", rank - 1)});
  // One dim is a row.
  if (rank == 1)
    taken = call.reshape(taken, {1, getNumElements(call.dims(1))});
  call.give(0, taken);
  return Error::success();
}

// A column for each category; another value is a row of zeros, or refused by
// ONNX Runtime.
Error zc::buildOneHotEncoder(ContribCall &call) {
  std::vector<int64_t> categories = call.getInts("cats_int64s");
  if (categories.empty())
    return refuse("has categories that are strings; expected integers");
  Dims dims = call.dims(0);
  dims.push_back(1);
  std::string column =
      call.reshape(call.cast(call.operand(0), Data::INT64), dims);
  std::string equal = call.add("Equal", {column, call.ints(categories)});
  call.give(0, call.cast(equal, Data::FLOAT));
  return Error::success();
}

Error zc::buildImputer(ContribCall &call) {
  std::vector<double> values = call.getFloats("imputed_value_floats");
  if (values.empty())
    return refuse("imputes integers; expected imputed_value_floats");
  double replaced = call.getFloat("replaced_value_float", 0);
  std::string x = call.operand(0);
  std::string isMissing =
      std::isnan(replaced) ? call.add("IsNaN", {x})
                           : call.add("Equal", {x, call.number(replaced, x)});
  call.give(0, call.add("Where", {isMissing, addFloats(call, values), x}));
  return Error::success();
}

Error zc::buildFeatureVectorizer(ContribCall &call) {
  ContribCall::Names columns;
  std::vector<int64_t> sizes = call.getInts("inputdimensions");
  for (unsigned index = 0; call.has(index); ++index) {
    Dims dims = call.dims(index);
    std::string x = addInput(call, index);
    int64_t width = dims.size() == 1 ? dims[0] : dims.back();
    if (index < sizes.size() && sizes[index] != width)
      return refuse("expected ", std::to_string(sizes[index]),
                    " features in operand ", std::to_string(index), ", found ",
                    std::to_string(width));
    columns.push_back(dims.size() == 1 ? call.reshape(x, {1, width}) : x);
  }
  call.give(0, call.add("Concat", columns, {attribute("axis", int64_t(1))}));
  return Error::success();
}

Error zc::buildTrees(ContribCall &) {
  return refuse(
      "is made of trees, which have no gradient and branch by values; "
      "zc trains linear models and networks");
}
