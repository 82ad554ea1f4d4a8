//===- StageCrossings.cpp - values that cross from stage to stage ---------===//
#include "passes/Pipeline/StageCrossings.h"

#include "passes/Autodiff/ActiveValues.h"
#include "passes/Autodiff/SampleDims.h"
#include "passes/Sequence/TokenDims.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

int64_t stageOf(Value value) {
  Operation *op = value.getDefiningOp();
  auto stage = op ? op->getAttrOfType<IntegerAttr>(kStageAttr) : nullptr;
  return stage ? stage.getInt() : -1;
}

/// Views, and values that are only made wider: a norm behind 16 bits reads them
/// as float32.
static bool isRepeated(Operation &op) {
  auto bits = [](Value value) {
    return getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  };
  return isa<ReshapeOp>(op) ||
         (isa<ConvertOp>(op) &&
          isa<FloatType>(getElementTypeOrSelf(op.getOperand(0))) &&
          bits(op.getResult(0)) > bits(op.getOperand(0)));
}

void repeatOps(func::FuncOp program) {
  Block &block = program.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isRepeated(op) || stageOf(op.getResult(0)) < 0)
      continue;
    llvm::SmallDenseMap<int64_t, Operation *> copies;
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses())) {
      auto stage = use.getOwner()->getAttrOfType<IntegerAttr>(kStageAttr);
      if (!stage || stage.getInt() == stageOf(op.getResult(0)))
        continue;
      Operation *&copy = copies[stage.getInt()];
      if (!copy) {
        copy = OpBuilder(&op).clone(op);
        copy->setAttr(kStageAttr, stage);
      }
      use.set(copy->getResult(0));
    }
    if (op.use_empty())
      op.erase();
  }
}

namespace {

class CrossingFinder {
public:
  CrossingFinder(func::FuncOp program, ArrayRef<StagePlace> places)
      : block(program.getBody().front()), places(places),
        samples(findSampleDims(program)),
        active(findActiveValues(program, findTrained(program))) {
    auto module = program->getParentOfType<ModuleOp>();
    if (!module->hasAttr(kTokenPartsAttr))
      return;
    ordered = isOrdered(module);
    tokens.emplace(program);
    tokens->markAttention();
    tokens->markMessages(); // and what the user says
  }

  std::vector<Crossing> run(int64_t &id) {
    std::vector<Crossing> found;
    const int64_t stages = places.size();
    for (Operation &op : block.without_terminator())
      for (Value value : op.getResults())
        for (int64_t to = stageOf(value) + 1;
             stageOf(value) >= 0 && to < stages; ++to)
          if (isReadBy(value, to)) {
            found.push_back({value, stageOf(value), to, id,
                             active.contains(value), findBatchDim(value),
                             findTokenDim(value)});
            id += 2 * places[stageOf(value)].replicas * places[to].replicas;
          }
    return found;
  }

private:
  bool isReadBy(Value value, int64_t reader) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto stage = user->getAttrOfType<IntegerAttr>(kStageAttr);
      return stage && stage.getInt() == reader;
    });
  }

  /// The dim that a rank's consecutive share of the samples is a part of,
  /// however many ranks the samples divide among.
  std::optional<int64_t> findBatchDim(Value value) const {
    auto place = samples.places.find(value);
    if (place == samples.places.end() || !place->second)
      return std::nullopt;
    auto type = cast<RankedTensorType>(value.getType());
    const int64_t size = place->second->size();
    if (type.getDimSize(place->second->dim) != size ||
        size % samples.samples != 0)
      return std::nullopt;
    return place->second->dim;
  }

  /// The dim that sp divides; none of tokens that ranks have whole.
  std::optional<int64_t> findTokenDim(Value value) {
    const int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    for (int64_t dim = 0; tokens && dim < rank; ++dim)
      if (tokens->isMarked({value, dim}) &&
          (ordered || tokens->isOfInput({value, dim})))
        return dim;
    return std::nullopt;
  }

  Block &block;
  ArrayRef<StagePlace> places; // of stages
  SampleDims samples;
  DenseSet<Value> active;
  std::optional<TokenDims> tokens;
  bool ordered = false; // tokens, all of which are divided then
};

} // namespace

std::vector<Crossing> findCrossings(func::FuncOp program,
                                    ArrayRef<StagePlace> places, int64_t &id) {
  return CrossingFinder(program, places).run(id);
}

} // namespace zc
