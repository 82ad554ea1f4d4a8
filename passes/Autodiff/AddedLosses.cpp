//===- AddedLosses.cpp - further outputs in the loss ----------------------===//
#include "passes/Autodiff/AddedLosses.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/Losses.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static FailureOr<AddedLoss> findAddedLoss(func::FuncOp forward,
                                          StringRef text) {
  auto [name, number] = text.rsplit('=');
  double weight = 0;
  if (number.getAsDouble(weight)) {
    forward.emitError("expected OUTPUT=WEIGHT for an added loss, found '")
        << text << "'";
    return failure();
  }
  std::string outputs;
  for (unsigned i = 0; i < forward.getNumResults(); ++i) {
    auto output = forward.getResultAttrOfType<StringAttr>(i, kOutputAttr);
    if (!output)
      continue;
    outputs += (outputs.empty() ? "'" : ", '") + output.getValue().str() + "'";
    if (output.getValue() != name)
      continue;
    auto type = cast<RankedTensorType>(forward.getResultTypes()[i]);
    if (isa<FloatType>(type.getElementType()) && type.getNumElements() > 0)
      return AddedLoss{i, weight};
    forward.emitError("output '")
        << name << "' of type " << type
        << " cannot be added to the loss; expected floating-point numbers";
    return failure();
  }
  forward.emitError("no output named '")
      << name << "' to add to the loss; the model has " << outputs;
  return failure();
}

FailureOr<SmallVector<AddedLoss>>
findAddedLosses(func::FuncOp forward, ArrayRef<std::string> outputs) {
  SmallVector<AddedLoss> added;
  for (const std::string &each : outputs) {
    FailureOr<AddedLoss> found = findAddedLoss(forward, each);
    if (failed(found))
      return failure();
    added.push_back(*found);
  }
  return added;
}

/// How a part's mean makes that of the step, if parts count alike.
static double shareOfPart(PartKind kind, bool isCounted, int64_t parts) {
  if (kind == PartKind::Term)
    return isCounted ? double(parts) : 1;
  return isCounted ? 1 : 1 / double(parts);
}

Value addLosses(OpBuilder &builder, Location loc, Value loss, Value count,
                ArrayRef<AddedLoss> added, ValueRange results,
                ArrayRef<PartKind> kinds, int64_t parts) {
  Type element = getElementTypeOrSelf(loss.getType());
  for (const AddedLoss &each : added) {
    Value output = convert(builder, loc, results[each.index], element);
    auto type = cast<RankedTensorType>(output.getType());
    double factor = each.weight / double(type.getNumElements());
    if (parts > 1)
      factor *= shareOfPart(kinds[each.index], bool(count), parts);
    Value term = MulOp::create(builder, loc, sumAll(builder, loc, output),
                               splat(builder, loc, loss.getType(), factor));
    if (count)
      term = MulOp::create(builder, loc, term,
                           convert(builder, loc, count, element));
    loss = AddOp::create(builder, loc, loss, term);
  }
  return loss;
}

} // namespace zc
