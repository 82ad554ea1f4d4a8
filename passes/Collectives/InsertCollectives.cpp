//===- InsertCollectives.cpp - --zc-insert-collectives --------------------===//
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Collectives/Passes.h"
#include "passes/Sharding/Layout.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_INSERTCOLLECTIVESPASS
#include "passes/Collectives/Passes.h.inc"

namespace {

/// Collectives from one layout of a value to another.
class Resharder {
public:
  /// `user` is a dist.reshard that says more, or null; `traffic` what is sent
  /// where nothing else says it.
  Resharder(OpBuilder &builder, Value value, Layout from, dist::ReshardOp user,
            Traffic traffic, dist::MeshAttr mesh, Type gradientElement,
            bool sumsWhole)
      : builder(builder), value(value), now(std::move(from)), user(user),
        traffic(traffic), mesh(mesh), gradientElement(gradientElement),
        sumsWhole(sumsWhole) {}

  /// Null where a whole value would have to become a sum of terms.
  Value run(const Layout &wanted);

private:
  void reduce(const Layout &wanted);
  void reduceAs(const Layout &wanted, Type element);
  void convertTo(Type element);
  void scatter(const Layout &wanted, int64_t dim);
  bool exchange(const Layout &wanted);
  void gather(const Layout &wanted, int64_t dim);
  void slice(const Layout &wanted, int64_t dim);
  template <typename Op, typename... Args> void add(Args &&...args);
  Traffic getTraffic();

  OpBuilder &builder;
  Value value;
  Layout now;
  dist::ReshardOp user;
  Traffic traffic;
  dist::MeshAttr mesh;
  Type gradientElement; // what floats of gradients are reduced in
  bool sumsWhole;       // of gradients
};

} // namespace

static bool isPrefix(const Axes &prefix, const Axes &axes) {
  return prefix.size() <= axes.size() &&
         ArrayRef(axes).take_front(prefix.size()) == ArrayRef(prefix);
}

static std::optional<Traffic> saidTraffic(Operation *op) {
  return op ? dist::getTraffic(op) : std::nullopt;
}

/// The traffic named on the user or else on the value; else the kind sent.
Traffic Resharder::getTraffic() {
  std::optional<Traffic> said = saidTraffic(user);
  if (!said)
    said = saidTraffic(value.getDefiningOp());
  if (!said && cast<ShapedType>(value.getType()).getNumElements() == 1)
    said = dist::kScalars;
  return said.value_or(traffic);
}

template <typename Op, typename... Args> void Resharder::add(Args &&...args) {
  auto op = Op::create(builder, value.getLoc(), value.getType(), value,
                       std::forward<Args>(args)...);
  // The result has the traffic of the value that it gathers or reduces.
  if (std::optional<Traffic> said = saidTraffic(value.getDefiningOp()))
    dist::setTraffic(op, *said);
  if (user)
    for (StringRef name :
         {StringRef(kGradientsAttr), StringRef(dist::kPassAttr)})
      copyMark(user, op, name);
  op->setAttr(dist::kResultsAttr, toArrayAttr(now, mesh));
  value = op;
}

void Resharder::scatter(const Layout &wanted, int64_t dim) {
  Axes &mine = now.dims[dim];
  const Axes &target = wanted.dims[dim];
  if (!isPrefix(mine, target))
    return;
  Axes axes;
  for (size_t i = mine.size(); i < target.size(); ++i) {
    if (!now.isUnreduced(target[i]))
      break;
    axes.push_back(target[i]);
  }
  if (axes.empty())
    return;
  mine.append(axes);
  for (int axis : axes)
    now.unreduced.erase(llvm::find(now.unreduced, axis));
  add<dist::ReduceScatterOp>(axisNames(axes, mesh), dim, getTraffic());
}

void Resharder::reduce(const Layout &wanted) {
  const bool isWhole = sumsWhole && getTraffic() == dist::kGradients;
  for (int64_t dim = 0; dim < static_cast<int64_t>(now.dims.size()); ++dim)
    if (!isWhole)
      scatter(wanted, dim);
  Axes axes;
  for (int axis : now.unreduced)
    if (!wanted.isUnreduced(axis))
      axes.push_back(axis);
  if (axes.empty())
    return;
  for (int axis : axes)
    now.unreduced.erase(llvm::find(now.unreduced, axis));
  add<dist::AllReduceOp>(axisNames(axes, mesh), getTraffic(),
                         /*holders=*/DenseI64ArrayAttr());
  if (isWhole)
    value.getDefiningOp<dist::AllReduceOp>().setStaysWhole(true);
}

void Resharder::convertTo(Type element) {
  value = train::convert(builder, value.getLoc(), value, element);
  Operation *op = value.getDefiningOp();
  op->setAttr(dist::kOperandsAttr, toArrayAttr(now, mesh));
  op->setAttr(dist::kResultsAttr, toArrayAttr(now, mesh));
}

/// The sum in another type than the terms', which only passes through.
void Resharder::reduceAs(const Layout &wanted, Type element) {
  Type own = getElementTypeOrSelf(value.getType());
  const Traffic sent = getTraffic();
  Value terms = value;
  convertTo(element);
  value.getDefiningOp()->setAttr(kStagingAttr, builder.getUnitAttr());
  dist::setTraffic(value.getDefiningOp(), sent);
  // A gradient accumulated over micro-batches is an argument: no producer.
  if (Operation *producer = terms.getDefiningOp())
    copyMark(producer, value.getDefiningOp(), kLateAttr);
  reduce(wanted);
  value.getDefiningOp()->setAttr(kStagingAttr, builder.getUnitAttr());
  Attribute gradient = value.getDefiningOp()->removeAttr(kGradientsAttr);
  convertTo(own);
  // Sums over some axes are as wide again as the terms that ops computed.
  if (!now.unreduced.empty())
    value.getDefiningOp<ConvertOp>().setRoundsResult(true);
  if (gradient)
    value.getDefiningOp()->setAttr(kGradientsAttr, gradient);
}

/// One axis that leaves the end of a dim for the end of another.
bool Resharder::exchange(const Layout &wanted) {
  int64_t rank = now.dims.size();
  for (int64_t from = 0; from < rank; ++from) {
    if (now.dims[from].empty() || isPrefix(now.dims[from], wanted.dims[from]))
      continue;
    int axis = now.dims[from].back();
    for (int64_t to = 0; to < rank; ++to) {
      size_t place = now.dims[to].size();
      if (to == from || !isPrefix(now.dims[to], wanted.dims[to]) ||
          wanted.dims[to].size() <= place || wanted.dims[to][place] != axis)
        continue;
      now.dims[from].pop_back();
      now.dims[to].push_back(axis);
      add<dist::AllToAllOp>(axisNames(axis, mesh), from, to, getTraffic());
      return true;
    }
  }
  return false;
}

void Resharder::gather(const Layout &wanted, int64_t dim) {
  Axes &mine = now.dims[dim];
  size_t kept = 0;
  while (kept < mine.size() && kept < wanted.dims[dim].size() &&
         mine[kept] == wanted.dims[dim][kept])
    ++kept;
  if (kept == mine.size())
    return;
  Axes axes(mine.begin() + kept, mine.end());
  mine.resize(kept);
  add<dist::AllGatherOp>(axisNames(axes, mesh), dim, getTraffic());
}

void Resharder::slice(const Layout &wanted, int64_t dim) {
  Axes &mine = now.dims[dim];
  if (mine == wanted.dims[dim])
    return;
  Axes axes(wanted.dims[dim].begin() + mine.size(), wanted.dims[dim].end());
  mine = wanted.dims[dim];
  add<dist::SliceOp>(axisNames(axes, mesh), builder.getI64IntegerAttr(dim));
}

Value Resharder::run(const Layout &wanted) {
  Type own = getElementTypeOrSelf(value.getType());
  bool converts =
      gradientElement && own != gradientElement &&
      (own.isF32() || isNarrow(own)) && getTraffic() == dist::kGradients &&
      llvm::any_of(now.unreduced,
                   [&](int axis) { return !wanted.isUnreduced(axis); });
  if (converts)
    reduceAs(wanted, gradientElement);
  reduce(wanted);
  while (exchange(wanted)) {
  }
  for (int64_t dim = 0; dim < static_cast<int64_t>(now.dims.size()); ++dim)
    gather(wanted, dim);
  for (int64_t dim = 0; dim < static_cast<int64_t>(now.dims.size()); ++dim)
    slice(wanted, dim);
  return now == wanted ? value : Value();
}

namespace {

struct InsertCollectives
    : public impl::InsertCollectivesPassBase<InsertCollectives> {
  using InsertCollectivesPassBase::InsertCollectivesPassBase;

  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("has no dist.mesh; run --zc-annotate-mesh");
      return signalPassFailure();
    }
    if (failed(readGradientElement()))
      return signalPassFailure();
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (failed(convert(program)))
        return signalPassFailure();
    getOperation().walk([&](dist::CollectiveOpInterface) { ++numCollectives; });
  }

private:
  LogicalResult readGradientElement() {
    gradientElement = llvm::StringSwitch<Type>(gradients)
                          .Case("fp32", Float32Type::get(&getContext()))
                          .Case("bf16", BFloat16Type::get(&getContext()))
                          .Default(Type());
    if (gradientElement || gradients.empty())
      return success();
    return getOperation().emitError("gradients: expected fp32 or bf16, found '")
           << gradients << "'";
  }

  LogicalResult convert(func::FuncOp program) {
    made.clear();
    Block &block = program.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block)) {
      bool isReturn = &op == block.getTerminator();
      auto wanted = isReturn ? resultsOf(program)
                             : layoutsOf(&op, dist::kOperandsAttr, mesh);
      if (wanted.size() != op.getNumOperands())
        return op.emitError("has no shardings; run --zc-propagate-sharding");
      if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
        if (failed(replace(reshard)))
          return failure();
        continue;
      }
      for (OpOperand &use : op.getOpOperands())
        if (failed(
                reshard(use, wanted[use.getOperandNumber()],
                        isReturn && isParameter(program, use.getOperandNumber())
                            ? dist::kParameters
                            : dist::kActivations)))
          return failure();
    }
    return success();
  }

  SmallVector<Layout> resultsOf(func::FuncOp program) {
    SmallVector<Layout> layouts;
    for (unsigned index = 0; index < program.getNumResults(); ++index)
      if (auto sharding = program.getResultAttrOfType<dist::ShardingAttr>(
              index, dist::kShardingAttr))
        layouts.push_back(Layout::from(sharding, mesh));
    return layouts;
  }

  static bool isParameter(func::FuncOp program, unsigned result) {
    StateOp state =
        findState(program, program.getResultAttr(result, kStateAttr));
    return state && (state.getKind() == kParameter || state.getKind() == kCopy);
  }

  LogicalResult reshard(OpOperand &use, const Layout &wanted, Traffic traffic) {
    Value value = use.get();
    Layout from = layoutOf(value, mesh);
    if (from == wanted)
      return success();
    Value &moved = made[{value, wanted.toAttr(mesh)}];
    if (!moved) {
      OpBuilder builder(use.getOwner());
      moved = Resharder(builder, value, from, nullptr, traffic, mesh,
                        gradientElement, sumsWhole)
                  .run(wanted);
    }
    if (!moved)
      return use.getOwner()->emitError("operand ")
             << use.getOperandNumber() << " is " << from.toAttr(mesh)
             << " and cannot become " << wanted.toAttr(mesh);
    use.set(moved);
    return success();
  }

  LogicalResult replace(dist::ReshardOp op) {
    OpBuilder builder(op);
    Value moved =
        Resharder(builder, op.getInput(), layoutOf(op.getInput(), mesh), op,
                  dist::kActivations, mesh, gradientElement, sumsWhole)
            .run(layoutOf(op.getResult(), mesh));
    if (!moved)
      return op.emitError("cannot be made by collectives");
    op.getResult().replaceAllUsesWith(moved);
    op.erase();
    return success();
  }

  dist::MeshAttr mesh;
  Type gradientElement; // null: their own
  DenseMap<std::pair<Value, Attribute>, Value> made;
};

} // namespace
} // namespace zc
