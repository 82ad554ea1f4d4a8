//===- PartitionKept.cpp - saved activations sharded over ranks -----------===//
//
// ZeRO-R's partitioned activations (Rajbhandari et al. 2020): values that
// tensor parallelism computes on every rank of a group are kept once by the
// group.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Coordinates.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Memory/KeptEncoder.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// Whether the axes of a collective, or of a dim, have this one.
bool names(ArrayAttr axes, StringRef axis) {
  return axes && llvm::is_contained(axes.getAsValueRange<StringAttr>(), axis);
}

class PartitionEncoder : public KeptEncoder {
public:
  explicit PartitionEncoder(StringRef axis) : axis(axis) {}

  void prepare(func::FuncOp program) override {
    this->program = program;
    varying.clear();
    dist::MeshAttr mesh = dist::getMesh(program);
    ranks = mesh ? dist::getGroupSize(mesh, getAxes()) : 1;
    for (BlockArgument argument : program.getArguments())
      if (variesAsArgument(argument))
        varying.insert(argument);
    for (Operation &op : program.getBody().front().without_terminator())
      if (varies(op))
        varying.insert(op.result_begin(), op.result_end());
  }

  bool accepts(const KeptValue &kept) const override {
    return ranks > 1 && !varying.contains(kept.value) &&
           isa<FloatType>(kept.getType().getElementType()) &&
           kept.getType().getNumElements() % ranks == 0;
  }

  bool isElementwise() const override { return false; }

  SmallVector<Value> encode(OpBuilder &builder, Location loc,
                            Value value) const override {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t part = type.getNumElements() / ranks;
    Value parts = reshape(builder, loc, value, {ranks, part});
    Value own = reshape(builder, loc, getCoordinate(), {1});
    return llvm::to_vector(makeRegion(
        builder, loc, {parts, own}, [&](OpBuilder &inner, ValueRange inputs) {
          auto result = RankedTensorType::get({1, part}, type.getElementType());
          return SmallVector<Value>{
              GatherOp::create(inner, loc, result, inputs[0], inputs[1], 0)};
        }));
  }

  Value decode(OpBuilder &builder, Location loc, ValueRange encoded,
               RankedTensorType type) const override {
    int64_t part = type.getNumElements() / ranks;
    Value whole =
        makeRegion(
            builder, loc, encoded,
            [&](OpBuilder &inner, ValueRange inputs) {
              return SmallVector<Value>{dist::AllGatherOp::create(
                  inner, loc,
                  RankedTensorType::get({ranks, part}, type.getElementType()),
                  inputs[0], getAxes(), 0, dist::kActivations)};
            },
            kCollectiveLibrary)
            .front();
    // Gathered, it is on its way, not kept.
    auto gather = whole.getDefiningOp<FusedOp>();
    gather.setStaging(true);
    gather.setPrefetched(true);
    return reshape(builder, loc, whole, type.getShape());
  }

private:
  ArrayAttr getAxes() const {
    return Builder(program.getContext()).getStrArrayAttr({axis});
  }

  Value getCoordinate() const {
    auto module = program->getParentOfType<ModuleOp>();
    return getStateArgument(
        program, dist::getCoordinateState(
                     module, StringAttr::get(program.getContext(), axis)));
  }

  bool variesAsArgument(BlockArgument argument) const {
    if (StateOp state = findState(argument))
      if (state.getCoordinate())
        return *state.getCoordinate() == axis;
    auto sharding = program.getArgAttrOfType<dist::ShardingAttr>(
        argument.getArgNumber(), dist::kShardingAttr);
    return sharding && llvm::any_of(sharding.getDims(), [&](ArrayAttr axes) {
             return names(axes, axis);
           });
  }

  /// Whether ranks along the axis compute different things here.
  bool varies(Operation &op) const {
    auto region = dyn_cast<FusedOp>(op);
    auto collective = region ? dyn_cast<dist::CollectiveOpInterface>(
                                   region.getBody().front().front())
                             : dist::CollectiveOpInterface();
    if (collective && names(collective.getAxes(), axis))
      return !isa<dist::AllReduceOp, dist::AllGatherOp, dist::BroadcastOp>(
          collective.getOperation());
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      return varying.contains(operand);
    });
  }

  std::string axis;
  mutable func::FuncOp program; // a handle
  int64_t ranks = 1;
  DenseSet<Value> varying; // along the axis
};

} // namespace

std::unique_ptr<KeptEncoder> createPartitionEncoder(StringRef axis) {
  return std::make_unique<PartitionEncoder>(axis);
}

} // namespace zc
