//===- PropagateBackwards.cpp - what users want of values -----------------===//
//
// A value that every rank would have whole but needs in part is computed in
// part; and the shardings that were found are written to the program.
//
//===----------------------------------------------------------------------===//
#include "passes/Sharding/Propagation.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

//===----------------------------------------------------------------------===//
// Backwards
//===----------------------------------------------------------------------===//

/// How result `index` of the program is to be divided.
Layout Propagation::returnedLayout(unsigned index) {
  Value value = block.getTerminator()->getOperand(index);
  if (Attribute symbol = program.getResultAttr(index, kStateAttr))
    return stateLayout(symbol, value.getType());
  Layout whole = Layout::replicated(value.getType());
  if (auto sharding = program.getResultAttrOfType<dist::ShardingAttr>(
          index, dist::kShardingAttr))
    whole = Layout::from(sharding, mesh);
  auto dim = program.getResultAttrOfType<IntegerAttr>(index, kBatchDimAttr);
  if (dim)
    whole.dims[dim.getInt()] = outputBatchAxes;
  if (auto tokens =
          program.getResultAttrOfType<IntegerAttr>(index, kTokenDimAttr))
    whole.dims[tokens.getInt()] = tokenAxes; // of a message
  return whole;
}

static int64_t countParts(const Layout &layout, dist::MeshAttr mesh) {
  int64_t parts = 1;
  for (const Axes &axes : layout.dims)
    parts *= groupSize(axes, mesh);
  return parts;
}

/// The layout in which all users want a value; none if nobody uses it or they
/// differ. With `mayDiffer`, the finest of those that they want.
std::optional<Layout> Propagation::findDemand(Value value, bool mayDiffer) {
  std::optional<Layout> demand;
  for (OpOperand &use : value.getUses()) {
    unsigned index = use.getOperandNumber();
    Layout wanted = use.getOwner() == block.getTerminator()
                        ? returnedLayout(index)
                        : plans.at(use.getOwner()).operands[index];
    if (!demand ||
        (mayDiffer && countParts(wanted, mesh) > countParts(*demand, mesh)))
      demand = wanted;
    else if (!mayDiffer && *demand != wanted)
      return std::nullopt;
  }
  return demand;
}

/// Whether `to` divides further what `from` divides.
static bool refines(const Layout &to, const Layout &from) {
  for (auto [fine, coarse] : llvm::zip(to.dims, from.dims))
    if (fine.size() < coarse.size() ||
        ArrayRef(fine).take_front(coarse.size()) != ArrayRef(coarse))
      return false;
  return to.unreduced == from.unreduced && to != from;
}

/// Divides an op as its users want it, or gives the finer form that can be
/// divided so.
std::optional<FinerForm> Propagation::backward(Operation *op) {
  if (!isa<ShardableOpInterface>(op))
    return std::nullopt;
  SmallVector<Layout> hints;
  bool any = false;
  for (Value result : op->getResults()) {
    std::optional<Layout> demand = findDemand(result, /*mayDiffer=*/false);
    Layout &mine = layouts.at(result);
    if (demand && isZero(result) && !demand->unreduced.empty()) {
      plans.at(op).results[0] = mine = *demand;
      return std::nullopt;
    }
    bool useful = demand && refines(*demand, mine);
    hints.push_back(useful ? *demand : mine);
    any |= useful;
  }
  if (!any)
    return std::nullopt;
  OpLayouts finer = plan(op, hints);
  if (ArrayRef(finer.results) != ArrayRef(hints))
    return finerFormFor(op, finer.operands, hints);
  for (auto [result, layout] : llvm::zip(op->getResults(), finer.results))
    layouts[result] = layout;
  plans[op] = std::move(finer);
  return std::nullopt;
}

/// Both ways, again after each op that finer ones replace: what they are
/// divided along is another question for all ops around.
///
/// It ends. An op is replaced by ops each of which wants fewer elements whole
/// than it did, or is the finest form itself (FinerFormsTest).
/// So all that one op of the given program becomes, step by step, is a tree of
/// finite depth, and each round but the last adds a node to some op's tree.
/// forwards() replaces ops by finer ones, too; where it makes terms of whole
/// operands, these are no longer whole when it meets the op again.
void Propagation::bothWays() {
  bool replaced = true;
  while (replaced) {
    forwards();
    ++rounds;
    replaced = false;
    for (Operation &op : llvm::reverse(block.without_terminator())) {
      std::optional<FinerForm> form = backward(&op);
      replaced = form && makeFiner(&op, *form);
      if (replaced)
        break;
    }
  }
}

/// Takes from the users how reduced values are to be divided; whether that
/// changed anything.
bool Propagation::settleReshards() {
  bool changed = false;
  for (auto reshard : block.getOps<dist::ReshardOp>()) {
    std::optional<Layout> demand = findDemand(reshard, /*mayDiffer=*/true);
    if (!demand || !demand->unreduced.empty() ||
        reshard->hasAttr(dist::kShardingAttr) ||
        !refines(*demand, layouts.at(reshard.getResult())))
      continue;
    settled[reshard] = *demand;
    changed = true;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

static DictionaryAttr withSharding(DictionaryAttr attributes,
                                   dist::ShardingAttr sharding) {
  NamedAttrList list(attributes);
  list.set(dist::kShardingAttr, sharding);
  return list.getDictionary(sharding.getContext());
}

/// Accumulators hold what is added to them.
void Propagation::writeAccumulators() {
  for (unsigned index = 0; index < program.getNumResults(); ++index) {
    Attribute symbol = program.getResultAttr(index, kStateAttr);
    StateOp state = symbol ? findState(symbol) : StateOp();
    if (!state || state.getKind() != kAccumulator ||
        state->hasAttr(dist::kShardingAttr))
      continue;
    Value value = block.getTerminator()->getOperand(index);
    state->setAttr(dist::kShardingAttr, layouts.at(value).toAttr(mesh));
  }
}

/// All at once: each write of one makes a new list of all.
void Propagation::writeArguments() {
  SmallVector<DictionaryAttr> written;
  for (BlockArgument argument : block.getArguments()) {
    const unsigned index = argument.getArgNumber();
    if (openAccumulators.contains(argument))
      layouts[argument] = stateLayout(program.getArgAttr(index, kStateAttr),
                                      argument.getType());
    written.push_back(withSharding(program.getArgAttrDict(index),
                                   layouts.at(argument).toAttr(mesh)));
  }
  program.setAllArgAttrs(written);
}

void Propagation::writeOp(Operation *op) {
  OpLayouts &mine = plans.at(op);
  op->setAttr(dist::kOperandsAttr, toArrayAttr(mine.operands, mesh));
  op->setAttr(dist::kResultsAttr, toArrayAttr(mine.results, mesh));
  // Where one is reduced before its end, it is sent as a gradient too.
  auto isOpenTerm = [&](Value result) {
    return gradientTerms.contains(result) &&
           !layouts.at(result).unreduced.empty();
  };
  if (llvm::any_of(op->getResults(), isOpenTerm) && !dist::getTraffic(op))
    dist::setTraffic(op, dist::kGradients);
}

void Propagation::writeResults() {
  SmallVector<DictionaryAttr> written;
  for (unsigned index = 0; index < program.getNumResults(); ++index)
    written.push_back(withSharding(program.getResultAttrDict(index),
                                   returnedLayout(index).toAttr(mesh)));
  program.setAllResultAttrs(written);
}

void Propagation::write() {
  writeAccumulators();
  writeArguments();
  for (Operation &op : block.without_terminator())
    writeOp(&op);
  writeResults();
}

} // namespace zc
