//===- SimulatedRanks.cpp - compressed steps on one rank ------------------===//
#include "compiler/Interpreter/SimulatedRanks.h"

#include "compiler/Interpreter/Ranks.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <numeric>
#include <optional>

using namespace mlir;

namespace zc::interpreter {

namespace {

/// A dim that consists of blocks, each of which ranks divide by itself (q, k
/// and v): a rank's parts are not one stretch of it.
struct BlockedDim {
  int64_t dim;
  ArrayRef<int64_t> blocks; // their sizes
  int64_t ranks;            // that divide each
};

/// Builds values in another order along such a dim.
class BlockOrder {
public:
  BlockOrder(OpBuilder &builder, const BlockedDim &blocked)
      : builder(builder), blocked(blocked),
        share(std::accumulate(blocked.blocks.begin(), blocked.blocks.end(),
                              int64_t(0)) /
              blocked.ranks) {}

  /// Each rank's parts one behind the other, rank by rank.
  Value byRanks(Value value) {
    SmallVector<Value> parts;
    for (int64_t rank = 0; rank < blocked.ranks; ++rank) {
      int64_t begin = 0;
      for (int64_t block : blocked.blocks) {
        parts.push_back(slice(value, begin + rank * (block / blocked.ranks),
                              block / blocked.ranks));
        begin += block;
      }
    }
    return join(value, parts);
  }

  /// Back from there.
  Value byBlocks(Value value) {
    SmallVector<Value> parts;
    int64_t begin = 0; // in a rank's share
    for (int64_t block : blocked.blocks) {
      const int64_t size = block / blocked.ranks;
      for (int64_t rank = 0; rank < blocked.ranks; ++rank)
        parts.push_back(slice(value, rank * share + begin, size));
      begin += size;
    }
    return join(value, parts);
  }

private:
  Value slice(Value value, int64_t offset, int64_t size) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape()), offsets(shape.size(), 0);
    shape[blocked.dim] = size;
    offsets[blocked.dim] = offset;
    return train::SliceOp::create(builder, value.getLoc(), type.clone(shape),
                                  value, offsets,
                                  SmallVector<int64_t>(shape.size(), 1));
  }

  Value join(Value like, ArrayRef<Value> parts) {
    return train::ConcatOp::create(builder, like.getLoc(), like.getType(),
                                   parts, blocked.dim);
  }

  OpBuilder &builder;
  const BlockedDim &blocked;
  const int64_t share; // of a rank
};

/// The state that says how this one is divided: a copy's parameter.
train::StateOp findDescribed(train::StateOp state) {
  if (!state || state.getKind() != train::kCopy)
    return state;
  auto module = state->getParentOfType<ModuleOp>();
  return module.lookupSymbol<train::StateOp>(*state.getParameter());
}

/// The blocks of a state. Accumulators say nothing of theirs: they are in the
/// ranks' order for the interpreter, too.
std::optional<BlockedDim> findBlocks(train::StateOp named) {
  train::StateOp state = findDescribed(named);
  auto sharding =
      state ? state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr)
            : dist::ShardingAttr();
  if (!sharding)
    return std::nullopt;
  for (auto [dim, axes] : llvm::enumerate(sharding.getDims()))
    if (ArrayRef<int64_t> blocks = dist::getBlocks(state, int64_t(dim));
        !blocks.empty())
      return BlockedDim{int64_t(dim), blocks,
                        dist::getGroupSize(dist::getMesh(state), axes)};
  return std::nullopt;
}

/// Shares of a tensor are stretches of it, as each rank has its own.
void orderByRanks(func::FuncOp program) {
  Block &body = program.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (BlockArgument argument : body.getArguments()) {
    const auto blocks = findBlocks(train::findState(argument));
    if (!blocks)
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    Value ordered = BlockOrder(builder, *blocks).byRanks(argument);
    for (OpOperand *use : uses)
      use->set(ordered);
  }
  Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  for (OpOperand &result : end->getOpOperands()) {
    train::StateOp state = train::findState(
        program,
        program.getResultAttr(result.getOperandNumber(), train::kStateAttr));
    if (const auto blocks = findBlocks(state))
      result.set(BlockOrder(builder, *blocks).byBlocks(result.get()));
  }
}

/// The shares of all ranks along the axes, the first of which is the slowest.
SmallVector<float> sharesOfRanks(dist::MeshAttr mesh, ArrayAttr axes) {
  SmallVector<float> shares = {1};
  for (auto axis : axes.getAsRange<StringAttr>()) {
    const int64_t ranks = mesh.getSizes()[mesh.findAxis(axis)];
    SmallVector<float> product;
    for (float share : shares)
      for (int64_t rank = 0; rank < ranks; ++rank)
        product.push_back(share * float(shareOfTerm(rank, ranks)));
    shares = std::move(product);
  }
  return shares;
}

/// Each row is its rank's share of the sum.
void replaceTerms(dist::TermsOp op, dist::MeshAttr mesh) {
  OpBuilder builder(op);
  const Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> row(type.getShape());
  row.front() = 1;
  Value sum =
      train::ReshapeOp::create(builder, loc, type.clone(row), op.getInput());
  SmallVector<Value> rows;
  for (float share : sharesOfRanks(mesh, op.getAxes())) {
    Value factor = train::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            type.clone(row),
            builder.getFloatAttr(type.getElementType(), share)));
    rows.push_back(
        train::MulOp::create(builder, loc, sum.getType(), sum, factor));
  }
  op.getResult().replaceAllUsesWith(
      train::ConcatOp::create(builder, loc, type, rows, /*dim=*/0));
  op.erase();
}

} // namespace

void simulateRanks(ModuleOp module) {
  if (auto program =
          module.lookupSymbol<func::FuncOp>(train::kCompressedProgram))
    orderByRanks(program);
  const dist::MeshAttr mesh = dist::getMesh(module);
  module->removeAttr(dist::kMeshAttr);
  module.walk([&](Operation *op) {
    op->removeAttr(dist::kShardingAttr);
    if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
      reshard.getResult().replaceAllUsesWith(reshard.getInput());
      reshard.erase();
    } else if (auto terms = dyn_cast<dist::TermsOp>(op)) {
      replaceTerms(terms, mesh);
    }
  });
}

} // namespace zc::interpreter
