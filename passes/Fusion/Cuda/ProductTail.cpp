//===- ProductTail.cpp - what a loop nest does to a product ---------------===//
#include "passes/Fusion/Cuda/ProductTail.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Fusion/Cuda/EpilogueRegion.h"

using namespace mlir;
using namespace zc::train;

namespace zc::cuda {

/// Elements between the rows of what cuBLASLt keeps for a GELU's gradient are a
/// multiple of this.
static constexpr int64_t kAuxiliaryRow = 8;

namespace {

class TailFinder {
public:
  TailFinder(FusedOp nest, BlockArgument product, TailKinds kinds)
      : nest(nest), body(nest.getBody().front()), kinds(kinds) {
    tail.product = tail.last = tail.before = product;
  }

  std::optional<ProductTail> find() {
    while (Operation *user = onlyUser(tail.last))
      if (!takeSum(user) && !takeActivation(user))
        break;
    if (tail.ops.empty())
      return std::nullopt;
    tail.isWhole = tail.ops.size() + 1 == body.getOperations().size();
    bool fits = tail.activation.empty() ? fitsSum() : fitsActivation();
    return fits ? std::optional(tail) : std::nullopt;
  }

private:
  /// The one op that reads `value` besides the terminator, once, or null.
  Operation *onlyUser(Value value) {
    Operation *found = nullptr;
    for (OpOperand &use : value.getUses()) {
      if (use.getOwner() == body.getTerminator())
        continue;
      if (found)
        return nullptr;
      found = use.getOwner();
    }
    return found;
  }

  bool isYielded(Value value) {
    return llvm::is_contained(body.getTerminator()->getOperands(), value);
  }

  /// A vector along the last dim, repeated for the rows; its only use.
  Value biasOf(Value value) {
    auto broadcast = value.getDefiningOp<BroadcastOp>();
    int64_t rank = shapeOf(value).size();
    if (!broadcast || !value.hasOneUse() ||
        !isa<BlockArgument>(broadcast.getInput()) ||
        broadcast.getDims() != ArrayRef<int64_t>{rank - 1} ||
        shapeOf(broadcast.getInput())[0] != shapeOf(value).back())
      return {};
    return broadcast.getInput();
  }

  bool takeSum(Operation *user) {
    auto add = dyn_cast<AddOp>(user);
    if (!add || !tail.activation.empty() ||
        add.getType() != tail.product.getType() ||
        (tail.last != tail.product && isYielded(tail.last)))
      return false;
    Value other = add.getLhs() == tail.last ? add.getRhs() : add.getLhs();
    if (Value bias = tail.bias ? Value() : biasOf(other)) {
      tail.bias = bias;
      tail.ops.push_back(other.getDefiningOp());
    } else if (!tail.addend && isa<BlockArgument>(other) &&
               other != tail.product) {
      tail.addend = other;
    } else {
      return false;
    }
    tail.ops.push_back(add);
    tail.last = tail.before = add.getResult();
    return true;
  }

  bool takeActivation(Operation *user) {
    if (!kinds.activations || !tail.activation.empty())
      return false;
    if (auto gelu = dyn_cast<GeluOp>(user);
        gelu && gelu.getTanh() && isNarrow())
      tail.activation = "gelu";
    else if (isa<ReluOp>(user) && !isYielded(tail.last) && !hidesOverflow())
      tail.activation = "relu";
    else if (auto grad = dyn_cast<GeluGradOp>(user);
             grad && grad.getTanh() && isNarrow() && tail.ops.empty() &&
             grad.getGrad() == tail.last && isa<BlockArgument>(grad.getInput()))
      takeGradient(grad);
    else if (auto select = dyn_cast<SelectOp>(user);
             !select || !takeReluGradient(select))
      return false;
    tail.keepsBefore = isYielded(tail.before) && tail.before != tail.product;
    tail.ops.push_back(user);
    tail.last = user->getResult(0);
    return true;
  }

  /// The library's tanh is an approximate one, wrong by some 5e-5: nothing
  /// beside the rounding of 16 bits, too much for float32.
  bool isNarrow() {
    return cast<ShapedType>(tail.last.getType()).getElementTypeBitWidth() == 16;
  }

  /// The library's ReLU of NaN is 0. In float16 a NaN shows an overflow, and
  /// must get to the loss.
  bool hidesOverflow() {
    return cast<ShapedType>(tail.last.getType()).getElementType().isF16();
  }

  void takeGradient(GeluGradOp grad) {
    tail.activation = "gelu_grad";
    tail.auxiliary = grad.getInput();
  }

  /// For a ReLU's gradient the library reads one bit per element that its ReLU
  /// writes, not the ReLU's result, which is in memory anyway for the next
  /// weight's gradient. In bfloat16, bits cost 1/4 byte per element of traffic
  /// and 1/16 more memory. A loop nest on the result would move 6 bytes: it
  /// reads the product and the result, and writes the gradient. But the library
  /// sets the bit at 0 too, where the gradient is 0 elsewhere: so bits are used
  /// only on request.
  bool takeReluGradient(SelectOp select) {
    auto compare = select.getCondition().getDefiningOp<CompareOp>();
    if (!kinds.reluBits || !compare || !tail.ops.empty() ||
        select.getOnTrue() != tail.last ||
        compare.getPredicate() != Predicate::Gt || !isZero(compare.getRhs()) ||
        !isZero(select.getOnFalse()))
      return false;
    auto relu = dyn_cast<BlockArgument>(compare.getLhs());
    if (!relu || relu.getType() != tail.product.getType() ||
        !findRelu(nest.getInputs()[relu.getArgNumber()]))
      return false;
    tail.activation = "relu_grad";
    tail.auxiliary = relu;
    tail.ops.push_back(compare);
    for (Value zero : {compare.getRhs(), select.getOnFalse()})
      if (!llvm::is_contained(tail.ops, zero.getDefiningOp()))
        tail.ops.push_back(zero.getDefiningOp());
    return true;
  }

  /// With all of the nest, or where the sum is left in memory anyway.
  bool fitsSum() { return isYielded(tail.last) && !isYielded(tail.product); }

  bool fitsActivation() {
    bool keeps = tail.keepsBefore || tail.auxiliary;
    return tail.isWhole && isYielded(tail.last) && !isYielded(tail.product) &&
           (!keeps || shapeOf(tail.last).back() % kAuxiliaryRow == 0);
  }

  FusedOp nest;
  Block &body;
  TailKinds kinds;
  ProductTail tail;
};

} // namespace

std::optional<ProductTail> findTail(FusedOp nest, BlockArgument product,
                                    TailKinds kinds) {
  auto found = TailFinder(nest, product, kinds).find();
  // Only a part of it: bias alone, before another form of GELU.
  if (!found && kinds.activations)
    return TailFinder(nest, product, {/*activations=*/false}).find();
  return found;
}

} // namespace zc::cuda
