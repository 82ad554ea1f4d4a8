//===- Localize.cpp - --zc-localize ---------------------------------------===//
#include "passes/Collectives/Passes.h"
#include "passes/Sequence/PartAttention.h"
#include "passes/Sharding/ExchangedDims.h"

#include "dialects/Dist/Coordinates.h"
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/AttentionSupport.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Tokens.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_LOCALIZEPASS
#include "passes/Collectives/Passes.h.inc"

namespace {

/// Replaces collectives on whole tensors by what one rank does, and whole types
/// by parts.
class ProgramLocalizer {
public:
  ProgramLocalizer(func::FuncOp program, dist::MeshAttr mesh)
      : program(program), block(program.getBody().front()), mesh(mesh) {}

  LogicalResult run() {
    // Types first, for a result's sharding stands on its op.
    DenseMap<Operation *, SmallVector<Type>> types;
    for (Operation &op : block.without_terminator()) {
      SmallVector<Type> &mine = types[&op];
      for (Value result : op.getResults())
        mine.push_back(partOf(result));
    }
    for (BlockArgument argument : block.getArguments())
      setArgument(argument);
    for (Operation &op :
         llvm::make_early_inc_range(block.without_terminator())) {
      if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op)) {
        if (failed(localize(collective,
                            cast<RankedTensorType>(types.at(&op).front()))))
          return failure();
        continue;
      }
      cast<ShardableOpInterface>(op).setPartTypes(types.at(&op));
      ArrayAttr axes = getTokenAxes(&op);
      for (StringRef name : {dist::kOperandsAttr, dist::kResultsAttr,
                             dist::kTrafficAttr, kGatheredAttr})
        op.removeAttr(name);
      if (getKeySource(&op) && failed(divideTokens(&op, axes)))
        return failure();
    }
    setResults();
    return success();
  }

private:
  /// The axes that divide an attention's tokens.
  static ArrayAttr getTokenAxes(Operation *op) {
    auto operands = op->getAttrOfType<ArrayAttr>(dist::kOperandsAttr);
    if (!getKeySource(op) || !operands)
      return ArrayAttr();
    return cast<dist::ShardingAttr>(operands[0]).getDims()[1];
  }

  LogicalResult divideTokens(Operation *op, ArrayAttr axes) {
    // Tokens have changed places for the ranks of one axis, and nobody else.
    if (isZigzag(getKeySource(op)) &&
        (!axes || axes.size() != 1 ||
         cast<StringAttr>(axes[0]).getValue() != kTokenAxis))
      return op->emitOpError("has tokens in zigzag order, which '")
             << kTokenAxis
             << "' alone must divide; --sp-attention ring=contiguous has none";
    if (!axes || axes.empty()) {
      setKeySource(op, std::nullopt);
      return success();
    }
    OpBuilder builder(op);
    auto coordinate = [&] {
      return buildCoordinate(builder, op->getLoc(), axes);
    };
    attendParts(op, {axes, dist::getGroupSize(mesh, axes), coordinate, ends});
    return success();
  }

  Type partOf(Value value) {
    return dist::getPart(cast<RankedTensorType>(value.getType()),
                         layoutOf(value, mesh).toAttr(mesh), mesh);
  }

  /// The type in files of a state whose dims are padded to divide.
  Type wholeOf(Type padded, Attribute state) {
    StateOp found = findState(program, state);
    auto whole =
        found ? found->getAttrOfType<TypeAttr>(dist::kWholeAttr) : TypeAttr();
    return whole ? whole.getValue() : padded;
  }

  void setArgument(BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    Type padded = argument.getType(), part = partOf(argument);
    argument.setType(part);
    if (padded != part)
      program.setArgAttr(index, dist::kWholeAttr,
                         TypeAttr::get(wholeOf(
                             padded, program.getArgAttr(index, kStateAttr))));
  }

  void setResults() {
    for (auto [index, value] :
         llvm::enumerate(block.getTerminator()->getOperands())) {
      Type padded = program.getFunctionType().getResult(index);
      if (padded != value.getType())
        program.setResultAttr(
            index, dist::kWholeAttr,
            TypeAttr::get(
                wholeOf(padded, program.getResultAttr(index, kStateAttr))));
    }
    program.setType(
        FunctionType::get(program.getContext(), block.getArgumentTypes(),
                          block.getTerminator()->getOperandTypes()));
  }

  LogicalResult localize(dist::CollectiveOpInterface op,
                         RankedTensorType part) {
    OpBuilder builder(op);
    int64_t ranks = dist::getGroupSize(mesh, op.getAxes());
    Value local = op.buildLocal(builder, op->getOperand(0), part, ranks, [&] {
      return buildCoordinate(builder, op->getLoc(), op.getAxes());
    });
    if (!local)
      return op->emitOpError()
             << "works on the ranks' parts; whole tensors have "
                "no such op";
    Operation *made = local.getDefiningOp();
    if (made)
      train::copyMark(op, made, train::kGradientsAttr);
    if (Operation *sent = findCollective(made))
      train::copyMark(op, sent, dist::kPassAttr);
    op->getResult(0).replaceAllUsesWith(local);
    op->erase();
    return success();
  }

  /// The collective behind which ops put its parts in place.
  static Operation *findCollective(Operation *made) {
    while (isa_and_nonnull<ReshapeOp, TransposeOp>(made))
      made = made->getOperand(0).getDefiningOp();
    return isa_and_nonnull<dist::CollectiveOpInterface>(made) ? made : nullptr;
  }

  /// The rank's number in its group, row-major over the axes.
  Value buildCoordinate(OpBuilder &builder, Location loc, ArrayAttr axes) {
    Value number;
    for (auto axis : axes.getAsRange<StringAttr>()) {
      Value own = getCoordinate(axis);
      if (number) {
        int64_t size = mesh.getSizes()[mesh.findAxis(axis)];
        number = MulOp::create(builder, loc, number,
                               splat(builder, loc, own.getType(), size));
        number = AddOp::create(builder, loc, number, own);
      } else {
        number = own;
      }
    }
    return number;
  }

  Value getCoordinate(StringAttr axis) {
    Value &value = coordinates[axis];
    if (!value) {
      StateOp state =
          dist::getCoordinateState(program->getParentOfType<ModuleOp>(), axis);
      unsigned index = program.getNumArguments();
      auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
      NamedAttribute binding(StringAttr::get(program.getContext(), kStateAttr),
                             symbol);
      (void)program.insertArgument(
          index, state.getType(),
          DictionaryAttr::get(program.getContext(), binding), state.getLoc());
      value = program.getArgument(index);
    }
    return value;
  }

  func::FuncOp program;
  Block &block;
  dist::MeshAttr mesh;
  DenseMap<Attribute, Value> coordinates;
  RingEnds ends;
};

struct Localize : public impl::LocalizePassBase<Localize> {
  void runOnOperation() override {
    dist::MeshAttr mesh = dist::getMesh(getOperation());
    if (!mesh)
      return;
    auto programs = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp program : programs)
      if (failed(ProgramLocalizer(program, mesh).run()))
        return signalPassFailure();
    for (auto state : getOperation().getOps<StateOp>()) {
      auto sharding =
          state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
      if (!sharding)
        continue;
      RankedTensorType whole = state.getTensorType();
      RankedTensorType part = dist::getPart(whole, sharding, mesh);
      if (part == whole)
        continue;
      state.setType(part);
      if (!state->hasAttr(dist::kWholeAttr))
        state->setAttr(dist::kWholeAttr, TypeAttr::get(whole));
    }
  }
};

} // namespace
} // namespace zc
