//===- UnfusedAttention.cpp - attention that is several ops ---------------===//
#include "passes/Sequence/UnfusedAttention.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Keys that a softmax reads beside those of the products: an attention sink is
/// one more, whose value nobody reads (Xiao et al. 2023; GPT-OSS).
static int64_t countSinks(SoftmaxOp softmax) {
  Value all = softmax.getInput();
  if (auto less = all.getDefiningOp<SubOp>()) // the largest of a row
    all = less.getLhs();
  auto concat = all.getDefiningOp<ConcatOp>();
  const int64_t last = typeOf(softmax.getResult()).getRank() - 1;
  if (!concat || concat.getInputs().size() != 2 ||
      int64_t(concat.getDim()) != last)
    return 0;
  return typeOf(concat.getInputs().back()).getDimSize(last);
}

namespace {

/// Follows scores from a softmax both ways, up to the products that make and
/// read them.
class ScoreFinder {
public:
  explicit ScoreFinder(SoftmaxOp softmax)
      : softmax(softmax), type(typeOf(softmax.getResult())),
        sinks(countSinks(softmax)) {
    add(softmax.getInput());
    add(softmax.getResult());
    for (size_t i = 0; i < scores.size(); ++i)
      visit(scores[i]);
  }

  /// Nothing where it is no attention: a loss's softmax, or a gate's.
  std::optional<UnfusedAttention> find() const {
    UnfusedAttention attention{softmax, findReason(), {}};
    bool makes = false, reads = false;
    for (MatmulOp op : products) {
      const bool made = scores.contains(op.getResult());
      const bool read = scores.contains(op.getLhs());
      if (!isBatched(op) || made + read + scores.contains(op.getRhs()) != 1)
        return std::nullopt;
      attention.products.push_back(describe(op));
      makes |= made;
      reads |= read;
    }
    return makes && reads ? std::optional(attention) : std::nullopt;
  }

  ArrayRef<Value> getScores() const { return scores.getArrayRef(); }

private:
  /// Whether it has an element for each head, query and key.
  bool isLike(Value value) const {
    auto found = dyn_cast<RankedTensorType>(value.getType());
    if (!found || (found.getRank() != 3 && found.getRank() != 4))
      return false;
    const int64_t keys = type.getShape().back(), own = found.getShape().back();
    return (own == keys || own == keys - sinks) &&
           found.getShape().take_back(2).front() ==
               type.getShape().take_back(2).front() &&
           found.getNumElements() / own == type.getNumElements() / keys;
  }

  void add(Value value) {
    if (isLike(value))
      scores.insert(value);
  }

  static bool movesElements(Operation *op) {
    return isa<TransposeOp, func::ReturnOp>(op);
  }

  bool readsScores(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value each) { return isLike(each); });
  }

  void addAround(Operation *op) {
    if (auto product = dyn_cast<MatmulOp>(op)) {
      products.insert(product);
      return;
    }
    if (movesElements(op))
      return;
    for (Value each : op->getOperands())
      add(each);
    for (Value each : op->getResults())
      add(each);
  }

  /// A constant, or an argument, may be read elsewhere, too.
  void visit(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !(isa<MatmulOp>(op) || readsScores(op)))
      return;
    addAround(op);
    for (Operation *user : value.getUsers())
      addAround(user);
  }

  static bool isBatched(MatmulOp op) {
    const int64_t rank = typeOf(op.getResult()).getRank();
    return rank >= 3 && typeOf(op.getLhs()).getRank() == rank &&
           typeOf(op.getRhs()).getRank() == rank;
  }

  /// Dropout before a sum, the forward's before the backward's.
  Operation *findReason() const {
    Operation *dropout = nullptr, *sum = nullptr, *of = SoftmaxOp(softmax);
    auto take = [](Operation *&first, Operation *op) {
      if (!first || op->isBeforeInBlock(first))
        first = op;
    };
    for (Value value : scores) {
      Operation *op = value.getDefiningOp();
      if (isa_and_nonnull<DropoutOp, DropoutTrainingOp>(op))
        take(dropout, op);
      else if (isa_and_nonnull<AddOp>(op))
        take(sum, op);
    }
    return dropout ? dropout : sum ? sum : of;
  }

  ScoreProduct describe(MatmulOp op) const {
    ShardingRule rule = cast<ShardableOpInterface>(*op).getShardingRule();
    const bool made = scores.contains(op.getResult());
    const auto &dims =
        made ? rule.resultDims[0]
             : rule.operandDims[scores.contains(op.getLhs()) ? 0 : 1];
    const size_t rank = dims.size();
    return {op, dims[rank - 2], dims[rank - 1], dims[rank == 4 ? 1 : 0], made};
  }

  SoftmaxOp softmax;
  RankedTensorType type;
  int64_t sinks;
  llvm::SetVector<Value> scores;
  llvm::SetVector<MatmulOp> products;
};

} // namespace

DimOf UnfusedAttention::getQueries() const {
  Value all = softmax->getResult(0);
  return {all, typeOf(all).getRank() - 2};
}

int64_t UnfusedAttention::countHeads(int64_t samples) const {
  const ScoreProduct &product = products.front();
  const int64_t size = cast<ShardableOpInterface>(*product.op)
                           .getShardingRule()
                           .factors[product.heads]
                           .size;
  const bool joined = typeOf(softmax->getResult(0)).getRank() == 3;
  return joined && samples > 0 && size % samples == 0 ? size / samples : size;
}

UnfusedAttentions::UnfusedAttentions(func::FuncOp program) {
  program.walk([&](SoftmaxOp op) {
    const int64_t rank = typeOf(op.getResult()).getRank();
    if ((rank != 3 && rank != 4) || int64_t(op.getDim()) != rank - 1)
      return;
    ScoreFinder finder(op);
    std::optional<UnfusedAttention> attention = finder.find();
    if (!attention)
      return;
    found.push_back(std::move(*attention));
    scores.insert(finder.getScores().begin(), finder.getScores().end());
  });
}

WholeFactors UnfusedAttentions::getWhole() const {
  WholeFactors whole;
  for (const UnfusedAttention &attention : found)
    for (const ScoreProduct &product : attention.products)
      whole[product.op] = {product.keys};
  return whole;
}

} // namespace zc
