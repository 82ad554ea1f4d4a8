//===- CollapseDims.cpp - long rows for elementwise kernels ---------------===//
//
// The optimizer's update of a 512 x 512 x 3 x 3 filter would otherwise have an
// innermost loop of 3 iterations, which is no vector.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/CollapseDims.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Codegen/KernelSplit.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

class Collapser {
public:
  Collapser(Block &body, bool anyLength)
      : body(body), anyLength(anyLength),
        shape(shapeOf(body.getTerminator()->getOperand(0))) {}

  void run() {
    if (shape.size() < 2 || !isUnderstood())
      return;
    findGroups();
    if (groups.size() == shape.size())
      return;
    bool isCut = anyLength && body.getOps<ReduceOp>().empty();
    if (groups.size() == 1 && !isCut && !splitsWell(collapsedShape()[0]))
      separateOutermost();
    if (argumentsAgree())
      apply();
  }

private:
  bool isFull(Value value) const { return shapeOf(value) == ArrayRef(shape); }

  /// A reduction of all but leading dims of something full, which only leaves
  /// the kernel.
  bool isRowSum(Operation &op) const {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce || !isFull(reduce.getInput()))
      return false;
    int64_t kept = rankOf(reduce);
    return !reduce.getDims().empty() &&
           llvm::equal(reduce.getDims(),
                       llvm::seq<int64_t>(kept, shape.size())) &&
           llvm::all_of(reduce->getUsers(), [&](Operation *user) {
             return user == body.getTerminator();
           });
  }

  static int64_t rankOf(ReduceOp reduce) {
    return shapeOf(reduce.getResult()).size();
  }

  bool isUnderstood() {
    for (Operation &op : body.without_terminator()) {
      if (isRowSum(op))
        continue;
      auto spread = dyn_cast<BroadcastOp>(op);
      if (spread && !isa<BlockArgument>(spread.getInput()))
        return false;
      if (!spread && !isa<ElementwiseOpInterface>(op) && !isSplatConstant(&op))
        return false;
      if (op.getNumResults() != 1 || !isFull(op.getResult(0)))
        return false;
    }
    return llvm::all_of(body.getTerminator()->getOperands(),
                        [&](Value value) {
                          Operation *op = value.getDefiningOp();
                          return isFull(value) || (op && isRowSum(*op));
                        }) &&
           llvm::all_of(body.getArguments(), [&](BlockArgument argument) {
             return isFull(argument) ||
                    llvm::all_of(argument.getUsers(),
                                 llvm::IsaPred<BroadcastOp>);
           });
  }

  /// Whether the operand of a broadcast varies along each dim of the result.
  SmallVector<bool> variesAlong(BroadcastOp op) const {
    SmallVector<bool> varies(shape.size(), false);
    for (auto [index, dim] : llvm::enumerate(op.getDims()))
      varies[dim] = shapeOf(op.getInput())[index] == shape[dim];
    return varies;
  }

  void findGroups() {
    SmallVector<bool> joined(shape.size(), true);
    for (auto op : body.getOps<BroadcastOp>()) {
      SmallVector<bool> varies = variesAlong(op);
      for (size_t dim = 1; dim < shape.size(); ++dim)
        if (varies[dim] != varies[dim - 1])
          joined[dim] = false;
    }
    for (auto op : body.getOps<ReduceOp>())
      joined[rankOf(op)] = false;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (dim == 0 || !joined[dim])
        groups.emplace_back();
      groups.back().push_back(dim);
    }
  }

  void separateOutermost() {
    SmallVector<int64_t> rest(llvm::drop_begin(groups[0]));
    groups[0].truncate(1);
    groups.push_back(rest);
  }

  SmallVector<int64_t> collapsedShape() const {
    return llvm::map_to_vector(groups, [&](const auto &group) {
      int64_t size = 1;
      for (int64_t dim : group)
        size *= shape[dim];
      return size;
    });
  }

  /// The collapsed dims that the operand of a broadcast varies along.
  SmallVector<int64_t> collapsedDims(BroadcastOp op) const {
    SmallVector<bool> varies = variesAlong(op);
    SmallVector<int64_t> dims;
    for (auto [index, group] : llvm::enumerate(groups))
      if (varies[group[0]])
        dims.push_back(index);
    return dims;
  }

  /// An argument that is spread in two ways can have one shape only.
  bool argumentsAgree() {
    for (auto op : body.getOps<BroadcastOp>()) {
      SmallVector<int64_t> dims = collapsedDims(op);
      auto [known, isNew] = argumentDims.try_emplace(op.getInput(), dims);
      if (!isNew && known->second != dims)
        return false;
    }
    return true;
  }

  /// How many groups the leading `dims` are.
  int64_t numGroups(int64_t dims) const {
    return llvm::count_if(
        groups, [&](const auto &group) { return group.front() < dims; });
  }

  /// The type of a result once the dims are collapsed.
  RankedTensorType collapsedType(Operation &op,
                                 ArrayRef<int64_t> collapsed) const {
    auto reduce = dyn_cast<ReduceOp>(op);
    return withShape(op.getResult(0).getType(),
                     reduce ? collapsed.take_front(numGroups(rankOf(reduce)))
                            : collapsed);
  }

  void apply() {
    SmallVector<int64_t> collapsed = collapsedShape();
    for (auto op : body.getOps<ReduceOp>())
      op.setDims(llvm::to_vector(
          llvm::seq<int64_t>(numGroups(rankOf(op)), collapsed.size())));
    for (auto op : body.getOps<BroadcastOp>())
      op.setDims(collapsedDims(op));
    for (BlockArgument argument : body.getArguments()) {
      auto dims = argumentDims.find(argument);
      bool full = isFull(argument);
      if (!full && dims == argumentDims.end())
        continue;
      SmallVector<int64_t> to(collapsed);
      if (!full)
        to = llvm::map_to_vector(dims->second,
                                 [&](int64_t dim) { return collapsed[dim]; });
      newTypes.push_back({argument, withShape(argument.getType(), to)});
    }
    for (Operation &op : body.without_terminator())
      newTypes.push_back({op.getResult(0), collapsedType(op, collapsed)});
    for (auto [value, type] : newTypes)
      value.setType(type);
    for (auto op : body.getOps<ConstantOp>())
      op.setValueAttr(cast<DenseElementsAttr>(op.getValue())
                          .resizeSplat(cast<ShapedType>(op.getType())));
  }

  Block &body;
  bool anyLength;
  SmallVector<int64_t> shape;
  SmallVector<SmallVector<int64_t>> groups;
  DenseMap<Value, SmallVector<int64_t>> argumentDims;
  SmallVector<std::pair<Value, RankedTensorType>> newTypes;
};

} // namespace

/// Tensors put one behind another are copied in rows, each of which is all that
/// lies side by side in an input; else 7 x 7 pixels would be rows of 28 bytes.
static bool isConcatenation(Block &body) {
  auto ops = body.without_terminator();
  if (ops.empty())
    return false;
  return llvm::all_of(ops, [](Operation &op) {
    auto concat = dyn_cast<ConcatOp>(op);
    return concat &&
           llvm::all_of(concat.getInputs(), llvm::IsaPred<BlockArgument>);
  });
}

/// Where at least so many rows are copied, threads share them; fewer are cut.
constexpr int64_t kFewestRows = 8;

/// Dims in front of the one that grows as one; with `joinsIt`, that and all
/// behind it as one, else those behind it.
static void collapseAround(Value value, int64_t dim, bool joinsIt) {
  ArrayRef<int64_t> shape = shapeOf(value);
  SmallVector<int64_t> joined;
  if (joinsIt)
    joined = {ShapedType::getNumElements(shape.take_front(dim)),
              ShapedType::getNumElements(shape.drop_front(dim))};
  else {
    joined.assign(shape.begin(), shape.begin() + dim + 1);
    joined.push_back(ShapedType::getNumElements(shape.drop_front(dim + 1)));
  }
  value.setType(withShape(value.getType(), joined));
}

static void collapseConcatenation(Block &body) {
  auto first = cast<ConcatOp>(body.front());
  const auto dim = static_cast<int64_t>(first.getDim());
  ArrayRef<int64_t> shape = shapeOf(first.getResult());
  const auto rank = static_cast<int64_t>(shape.size());
  ArrayRef<int64_t> before = shape.take_front(dim);
  auto isAlike = [&](Operation &op) {
    auto concat = cast<ConcatOp>(op);
    ArrayRef<int64_t> other = shapeOf(concat.getResult());
    return static_cast<int64_t>(concat.getDim()) == dim &&
           static_cast<int64_t>(other.size()) == rank &&
           other.take_front(dim) == before;
  };
  const bool joinsIt = ShapedType::getNumElements(before) >= kFewestRows;
  if ((joinsIt ? rank <= 2 : rank - dim <= 2) ||
      !llvm::all_of(body.without_terminator(), isAlike))
    return;
  for (BlockArgument argument : body.getArguments())
    if (!argument.use_empty())
      collapseAround(argument, dim, joinsIt);
  for (Operation &op : body.without_terminator()) {
    collapseAround(op.getResult(0), dim, joinsIt);
    if (joinsIt)
      cast<ConcatOp>(op).setDim(1);
  }
}

void collapseDims(Block &body, bool anyLength) {
  if (anyLength && isConcatenation(body))
    return collapseConcatenation(body);
  if (!body.getTerminator()->getOperands().empty())
    Collapser(body, anyLength).run();
}

} // namespace zc
