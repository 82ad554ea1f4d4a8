//===- BuildCompressedStep.cpp - 1-bit Adam behind its warm-up ------------===//
//
// Tang et al. 2021, "1-bit Adam", algorithm 1, with the choices of DeepSpeed's
// OnebitAdam where the paper leaves them open: every parameter has scales of
// its own, a scale is the root of the mean square, decay is AdamW's. With
// n data-parallel ranks, rank i, whose samples have the gradient g_i,
// does
//
//   x_i = b1 m + (1 - b1) g_i + e_i     sends chunk j of C(x_i) to rank j
//   e_i = x_i - C(x_i)
//   y_j = mean over i of chunk j of C(x_i) + d_j         sends C(y_j) to all
//   d_j = y_j - C(y_j)
//   m = (C(y_0), ..., C(y_n-1))
//   p = p - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^s)) + eps) + decay p)
//
// where C(x) is signs of x times their scale and s the steps that v has seen.
// An element whose v is 0 is left alone: no gradient has reached it in the
// warm-up, and the least that signs can say of its momentum would be divided by
// eps.
//
// The ranks' terms are rows of a tensor that the ranks divide, [n, shares, N]:
// shares are what other axes (tp) divide a parameter into, each compressed by
// itself, N a share's elements, padded with zeros to n chunks of whole bytes.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Shares.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Autodiff/GradientNorm.h"
#include "passes/Autodiff/LossScale.h"
#include "passes/Autodiff/Optimizers/SignCompression.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"
#include "passes/Autodiff/Passes.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_BUILDCOMPRESSEDSTEPPASS
#include "passes/Autodiff/Passes.h.inc"

namespace {

/// One parameter on its way. Rows: [ranks, shares, length].
struct Member {
  StateOp parameter;
  dist::ShareRule shares;
  int64_t length = 0; // of a share, with padding
  Value gradients;    // rows
  StateOp momentum, variance, workerError, serverError;
};

/// Parameters that the same axes divide: they are sent together.
using Members = SmallVector<Member *>;

struct BuildCompressedStep
    : public impl::BuildCompressedStepPassBase<BuildCompressedStep> {
  using BuildCompressedStepPassBase::BuildCompressedStepPassBase;

  void runOnOperation() override {
    program = getOperation().lookupSymbol<func::FuncOp>(kCompressedProgram);
    if (!program) {
      getOperation().emitError("expected @apply.compressed with gradients, as "
                               "--zc-build-optimizer-step leaves it");
      return signalPassFailure();
    }
    findRanks();
    OpBuilder atEnd(program.getBody().front().getTerminator());
    builder = &atEnd;
    LossScale lossScale(program);
    scale = &lossScale;
    if (failed(collectMembers()) || failed(buildScalars()))
      return signalPassFailure();
    llvm::MapVector<Attribute, Members> groups;
    for (Member &member : members)
      groups[member.shares.axes].push_back(&member);
    for (auto &[divided, group] : groups)
      exchange(group);
  }

private:
  // --- The ranks

  void findRanks() {
    dist::MeshAttr mesh = dist::getMesh(getOperation());
    SmallVector<Attribute> names;
    for (const std::string &axis : axes)
      if (int index = mesh ? mesh.findAxis(axis) : -1;
          index >= 0 && mesh.getSizes()[index] > 1)
        names.push_back(mesh.getNames()[index]);
    sampleAxes = ArrayAttr::get(&getContext(), names);
    ranks = dist::getGroupSize(mesh, sampleAxes);
  }

  /// A tensor whose dims are divided over those axes.
  dist::ShardingAttr divideBy(ArrayRef<ArrayAttr> dims) {
    return dist::ShardingAttr::get(&getContext(), dims, {});
  }
  ArrayAttr whole() { return ArrayAttr::get(&getContext(), {}); }

  /// Reshards the value: the ranks exchange parts.
  Value send(Location loc, Value value, ArrayRef<ArrayAttr> dims) {
    if (ranks == 1)
      return value;
    auto op = dist::ReshardOp::create(*builder, loc, value);
    op->setAttr(dist::kShardingAttr, divideBy(dims));
    dist::setTraffic(op, dist::kGradients);
    return op;
  }

  // --- Parameters and their states

  LogicalResult collectMembers() {
    for (const Gradient &gradient : takeGradients(program)) {
      Member member;
      member.parameter = gradient.parameter;
      if (failed(findShares(member)) || failed(findStates(member)))
        return failure();
      member.gradients = buildRows(member, gradient.value);
      members.push_back(member);
    }
    return success();
  }

  LogicalResult findShares(Member &member) {
    StateOp parameter = member.parameter;
    auto sharding =
        parameter->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    auto shares = dist::getShares(parameter.getTensorType(), sharding,
                                  dist::getMesh(parameter));
    bool takesSamples =
        shares && llvm::any_of(shares->axes, [&](Attribute axis) {
          return llvm::is_contained(sampleAxes, axis);
        });
    if (!shares || takesSamples)
      return parameter.emitError()
             << "parameter '" << parameter.getSymName() << "' is divided as "
             << sharding
             << ", and onebit-adam compresses equal shares along one dim; "
                "divide one dim of it, by axes that divide no samples";
    member.shares = *shares;
    int64_t unit = kSignsPerByte * ranks;
    int64_t size = parameter.getTensorType().getNumElements() / shares->count;
    member.length = llvm::divideCeil(size, unit) * unit;
    return success();
  }

  LogicalResult findStates(Member &member) {
    auto find = [&](StringRef slot) {
      return getOperation().lookupSymbol<StateOp>(
          getSlotName(member.parameter.getSymName(), slot));
    };
    member.momentum = find("exp_avg");
    member.variance = find("exp_avg_sq");
    if (!member.momentum || !member.variance)
      return member.parameter.emitError("expected the optimizer's states of '")
             << member.parameter.getSymName() << "'";
    int64_t count = member.shares.count;
    return failure(
        failed(addError(member, "worker_error", {ranks, count, member.length},
                        {sampleAxes, member.shares.axes, whole()},
                        member.workerError)) ||
        failed(addError(
            member, "server_error", {count, ranks, member.length / ranks},
            {member.shares.axes, sampleAxes, whole()}, member.serverError)));
  }

  LogicalResult addError(const Member &member, StringRef slot,
                         ArrayRef<int64_t> shape, ArrayRef<ArrayAttr> dims,
                         StateOp &state) {
    StateOp parameter = member.parameter;
    std::string name = getSlotName(parameter.getSymName(), slot);
    if (Operation *taken = getOperation().lookupSymbol(name))
      return refuseName(taken, name);
    auto type = RankedTensorType::get(shape, builder->getF32Type());
    state =
        addState(getOperation(), name, type, kOptimizer, parameter.getLoc());
    state.setParameter(parameter.getSymName());
    state.setSlot(slot);
    state.setPerRank(true);
    if (ranks * member.shares.count > 1)
      state->setAttr(dist::kShardingAttr, divideBy(dims));
    return success();
  }

  /// A tensor of the parameter's shape as [shares, length].
  Value pack(const Member &member, Value tensor) {
    Location loc = tensor.getLoc();
    Value packed = dist::packShares(*builder, loc, {tensor}, {member.shares},
                                    member.length);
    return reshape(*builder, loc, packed, {member.shares.count, member.length});
  }

  SmallVector<int64_t> rowsShape(const Member &member) const {
    return {ranks, member.shares.count, member.length};
  }

  /// Row i is the gradient of the samples of rank i.
  Value buildRows(const Member &member, Value gradient) {
    Location loc = gradient.getLoc();
    UpdateBuilder u{*builder, loc};
    gradient = scale->unscale(*builder, widen(*builder, loc, gradient));
    Value packed = pack(member, gradient);
    SmallVector<int64_t> shape = rowsShape(member);
    if (ranks == 1)
      return reshape(*builder, loc, packed, shape);
    Value terms = dist::TermsOp::create(
        *builder, loc, withShape(packed.getType(), shape), packed, sampleAxes);
    return u.mul(terms, static_cast<double>(ranks));
  }

  // --- What all parameters share

  LogicalResult buildScalars() {
    Location loc = NameLoc::get(builder->getStringAttr("optimizer"));
    UpdateBuilder u{*builder, loc};
    auto number = RankedTensorType::get({}, builder->getI64Type());
    auto lr = getScalarState(getOperation(), kLearningRate,
                             RankedTensorType::get({}, builder->getF32Type()));
    auto count = getScalarState(getOperation(), kStepCount, number);
    auto seen = getScalarState(getOperation(), kVarianceStep, number);
    if (failed(lr) || failed(count) || failed(seen))
      return failure();
    scale->update(*builder, buildNorm());
    Value old = getStateArgument(program, *count);
    Value next = u.add(old, u.number(old, 1));
    addResult(program, scale->choose(*builder, next, old), bindTo(*count));
    Type wide = builder->getF64Type();
    Value rate = u.convert(getStateArgument(program, *lr), wide);
    Value one = u.number(rate, 1);
    auto correct = [&](double beta, Value steps) {
      return u.sub(one, u.pow(RuleNumber{beta}, u.convert(steps, wide)));
    };
    stepSize = u.div(rate, correct(beta1, next));
    correction = u.sqrt(correct(beta2, getStateArgument(program, *seen)));
    shrink = u.sub(one, u.mul(rate, weightDecay));
    return success();
  }

  /// The mean gradient is on no rank: of the ranks' own norms the root of the
  /// mean square.
  Value buildNorm() {
    Location loc = NameLoc::get(builder->getStringAttr("gradient norm"));
    UpdateBuilder u{*builder, loc};
    SmallVector<Value> rows;
    SmallVector<GradientDivision> divisions;
    for (const Member &member : members) {
      rows.push_back(member.gradients);
      SmallVector<Attribute> all(sampleAxes.begin(), sampleAxes.end());
      llvm::append_range(all, member.shares.axes);
      divisions.push_back(
          {{ranks, member.shares.count, 1}, builder->getArrayAttr(all)});
    }
    Value norm = u.mul(buildGlobalNorm(*builder, loc, rows, divisions),
                       1 / std::sqrt(static_cast<double>(ranks)));
    addResult(program, norm,
              builder->getNamedAttr(kMetricAttr,
                                    builder->getStringAttr("grad_norm")));
    return norm;
  }

  // --- There and back

  void exchange(Members &group) {
    Location loc = NameLoc::get(builder->getStringAttr("1-bit momentum"));
    ArrayAttr shares = group.front()->shares.axes;
    SmallVector<Compressed> sent;
    for (Member *member : group)
      sent.push_back(compressOwn(*member));
    Compressed all = join(loc, sent);
    all.signs = send(loc, all.signs, {whole(), shares, sampleAxes, whole()});
    all.scales = send(loc, all.scales, {whole(), shares, whole()});
    int64_t bytes = 0;
    for (auto [index, member] : llvm::enumerate(group)) {
      Compressed received = take(*member, all, bytes, index);
      bytes += getChunkBytes(*member);
      sent[index] = compressMean(*member, received);
    }
    all = join(loc, sent);
    all.signs = send(loc, all.signs, {shares, whole(), whole()});
    all.scales = send(loc, all.scales, {shares, whole(), whole()});
    bytes = 0;
    for (auto [index, member] : llvm::enumerate(group)) {
      update(*member, take(*member, all, bytes, index));
      bytes += getChunkBytes(*member);
    }
  }

  int64_t getChunkBytes(const Member &member) const {
    return member.length / ranks / kSignsPerByte;
  }

  /// Side by side along the last dim, the scales along a new one.
  Compressed join(Location loc, ArrayRef<Compressed> parts) {
    SmallVector<Value> signs, scales;
    for (const Compressed &part : parts) {
      signs.push_back(part.signs);
      SmallVector<int64_t> shape(
          cast<RankedTensorType>(part.scales.getType()).getShape());
      shape.push_back(1);
      scales.push_back(reshape(*builder, loc, part.scales, shape));
    }
    return {concat(loc, signs), concat(loc, scales), nullptr};
  }

  Value concat(Location loc, ArrayRef<Value> parts) {
    auto type = cast<RankedTensorType>(parts.front().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = 0;
    for (Value part : parts)
      shape.back() += cast<RankedTensorType>(part.getType()).getShape().back();
    return ConcatOp::create(*builder, loc, withShape(type, shape), parts,
                            type.getRank() - 1);
  }

  /// The `size` elements from `offset` of the last dim.
  Value slice(Location loc, Value value, int64_t offset, int64_t size) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape()), offsets(shape.size(), 0);
    shape.back() = size;
    offsets.back() = offset;
    return SliceOp::create(*builder, loc, withShape(type, shape), value,
                           offsets, SmallVector<int64_t>(shape.size(), 1));
  }

  /// A member's part of what came.
  Compressed take(Member &member, const Compressed &all, int64_t offset,
                  size_t index) {
    Location loc = member.parameter.getLoc();
    Value scales = slice(loc, all.scales, static_cast<int64_t>(index), 1);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(scales.getType()).getShape();
    return {slice(loc, all.signs, offset, getChunkBytes(member)),
            reshape(*builder, loc, scales, shape.drop_back()), nullptr};
  }

  /// Signs as [ranks, shares, chunks, bytes], scales as [ranks, shares].
  Compressed compressOwn(Member &member) {
    Location loc = member.parameter.getLoc();
    UpdateBuilder u{*builder, loc};
    SmallVector<int64_t> shape = rowsShape(member);
    Value momentum = pack(member, getStateArgument(program, member.momentum));
    momentum = broadcast(*builder, loc, momentum, shape, {1, 2});
    Value next =
        u.add(momentum, u.mul(u.sub(member.gradients, momentum), 1 - beta1));
    return compressWith(member.workerError, next, ranks);
  }

  /// A rank's chunk of the mean: signs as [shares, chunks, bytes], scales as
  /// [shares, chunks].
  Compressed compressMean(Member &member, const Compressed &received) {
    Location loc = member.parameter.getLoc();
    UpdateBuilder u{*builder, loc};
    int64_t count = member.shares.count, chunk = member.length / ranks;
    // Each sender's scale is that of all its chunks.
    Value scales = broadcast(*builder, loc, received.scales,
                             {ranks, count, ranks}, {0, 1});
    Value rows = expand(*builder, loc, received.signs, scales);
    Value sum = reduceSum(*builder, loc, rows, {0});
    sum = reshape(*builder, loc, sum, {count, ranks, chunk});
    sum = u.mul(sum, 1.0 / static_cast<double>(ranks));
    Compressed mean = compressWith(member.serverError, sum, /*chunks=*/1);
    mean.signs = reshape(*builder, loc, mean.signs,
                         {count, ranks, getChunkBytes(member)});
    return mean;
  }

  /// Compresses value + `error`, and keeps what compression lost in `error`.
  Compressed compressWith(StateOp error, Value value, int64_t chunks) {
    UpdateBuilder u{*builder, error.getLoc()};
    Value old = getStateArgument(program, error);
    Compressed sent =
        compress(*builder, error.getLoc(), u.add(value, old), chunks);
    addResult(program, scale->choose(*builder, sent.error, old), bindTo(error));
    return sent;
  }

  // --- The update

  void update(Member &member, const Compressed &received) {
    StateOp parameter = member.parameter;
    Location loc = parameter.getLoc();
    UpdateBuilder u{*builder, loc};
    Value chunks = expand(*builder, loc, received.signs, received.scales);
    Value momentum = dist::unpackShares(
        *builder, loc,
        reshape(*builder, loc, chunks, {member.shares.count * member.length}),
        0, parameter.getTensorType(), member.shares);
    Value variance = getStateArgument(program, member.variance);
    Value zero = u.number(variance, 0);
    momentum = u.select(u.greater(variance, zero), momentum, zero);
    setState(member.momentum, momentum);
    Value old = getStateArgument(program, parameter);
    Value kept = parameter.getDecay() && weightDecay != 0
                     ? u.mul(old, u.spread(shrink, old))
                     : old;
    Value root = u.div(u.sqrt(variance), u.spread(correction, old));
    Value ratio = u.div(momentum, u.add(root, u.number(root, eps)));
    Value updated =
        setState(parameter, u.sub(kept, u.mul(ratio, u.spread(stepSize, old))));
    if (StateOp copy = findCopy(parameter))
      addResult(program, narrow(*builder, loc, updated, copy.getType()),
                bindTo(copy));
  }

  /// Unless the step is skipped; returns what the state then is.
  Value setState(StateOp state, Value value) {
    value = scale->choose(*builder, value, getStateArgument(program, state));
    addResult(program, value, bindTo(state));
    return value;
  }

  func::FuncOp program;
  OpBuilder *builder = nullptr; // at the program's end
  LossScale *scale = nullptr;
  ArrayAttr sampleAxes; // of more than one rank
  int64_t ranks = 1;    // that have samples of their own
  SmallVector<Member> members;
  Value stepSize, correction, shrink; // float64, of no dims
};

} // namespace
} // namespace zc
