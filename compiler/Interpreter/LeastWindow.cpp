//===- LeastWindow.cpp - the least image under a window -------------------===//
#include "compiler/Interpreter/LeastWindow.h"
#include "compiler/Interpreter/CloneAlone.h"

#include "dialects/Train/Ops/WindowSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace zc::interpreter {

namespace {
/// Tensors of an op by number, operands first and its result last: which are
/// images, and which have an element for each place of the window.
struct Windowed {
  train::Window window;
  SmallVector<unsigned> images, places;
};
} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

template <typename OpTy>
static train::Window windowOfFilter(OpTy op, Value filter) {
  return train::windowOf(op, typeOf(filter).getShape().drop_front(2));
}

template <typename OpTy> static train::Window windowOfAverage(OpTy op) {
  return {op.getWindow(),  op.getStrides(),  {},
          op.getPadsLow(), op.getPadsHigh(), op.getChannelsLast()};
}

static std::optional<Windowed> findWindow(Operation *op) {
  using Found = std::optional<Windowed>;
  return TypeSwitch<Operation *, Found>(op)
      .Case([](train::ConvOp op) -> Found {
        return Windowed{windowOfFilter(op, op.getFilter()), {0}, {2}};
      })
      .Case([](train::ConvInputGradOp op) -> Found {
        return Windowed{windowOfFilter(op, op.getFilter()), {2}, {0}};
      })
      .Case([](train::ConvFilterGradOp op) -> Found {
        return Windowed{windowOfFilter(op, op.getResult()), {0}, {1}};
      })
      .Case([](train::MaxPoolOp op) -> Found {
        return Windowed{train::windowOf(op, op.getWindow()), {0}, {1}};
      })
      .Case([](train::MaxPoolGradOp op) -> Found {
        return Windowed{train::windowOf(op, op.getWindow()), {0, 3}, {1, 2}};
      })
      .Case([](train::AveragePoolOp op) -> Found {
        return Windowed{windowOfAverage(op), {0}, {1}};
      })
      .Case([](train::AveragePoolGradOp op) -> Found {
        return Windowed{windowOfAverage(op), {1}, {0}};
      })
      .Default(Found());
}

OwningOpRef<ModuleOp> makeLeastWindow(Operation *op) {
  const std::optional<Windowed> found = findWindow(op);
  if (!found)
    return {};
  const train::Window &window = found->window;
  SmallVector<RankedTensorType> types;
  for (Value operand : op->getOperands())
    types.push_back(typeOf(operand));
  types.push_back(typeOf(op->getResult(0)));
  auto resize = [&](ArrayRef<unsigned> which, int64_t dim, int64_t size) {
    for (unsigned number : which) {
      SmallVector<int64_t> shape(types[number].getShape());
      shape[dim] = size;
      types[number] = types[number].clone(shape);
    }
  };
  bool isSmaller = false;
  for (auto [i, dim] : llvm::enumerate(window.spatialDims())) {
    const int64_t dilation = window.dilations.empty() ? 1 : window.dilations[i];
    const int64_t least = dilation * (window.sizes[i] - 1) + 1 +
                          window.strides[i] - window.padsLow[i] -
                          window.padsHigh[i];
    if (least < 1 || types[found->images.front()].getDimSize(dim) <= least ||
        types[found->places.front()].getDimSize(dim) < 2)
      continue;
    resize(found->images, dim, least);
    resize(found->places, dim, 2);
    isSmaller = true;
  }
  if (!isSmaller)
    return {};
  const SmallVector<Type> all(types.begin(), types.end());
  return cloneAlone(op, ArrayRef(all).drop_back(), all.back());
}

} // namespace zc::interpreter
