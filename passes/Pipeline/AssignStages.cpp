//===- AssignStages.cpp - --zc-assign-stages ------------------------------===//
//
// A program's order is a topological one, so that any cut of it is sound:
// values that cross it are sent forwards, whatever stages lie between.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Axes.h"
#include "dialects/Interfaces/NamePattern.h"
#include "dialects/Onnx/Location.h"
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/PlacedOps.h"
#include "passes/Pipeline/Segments.h"
#include "passes/Target/Target.h"

#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

/// Ops that depend on inputs alone are cloned up to this share of the forward.
constexpr double kCheapShare = 0.01;

/// A line of a stage file.
struct StageRule {
  NamePattern pattern;
  std::string text;
  int64_t stage;
};

struct AssignStages : public impl::AssignStagesPassBase<AssignStages> {
  using AssignStagesPassBase::AssignStagesPassBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!step) {
      getOperation().emitError("expected @step");
      return signalPassFailure();
    }
    count = stages;
    SmallVector<Operation *> placed = findPlacedOps(step, kCheapShare);
    LogicalResult assigned =
        patterns.empty() ? assignByCost(step, placed) : assignByRules(placed);
    if (failed(assigned) || failed(checkStages(placed)))
      return signalPassFailure();
    setSeconds(placed);
    for (Operation &op : step.getBody().front())
      if (stageOf(&op) < 0 && !getNodeName(&op).empty())
        repeatedNodes.insert(getNodeName(&op));
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (program != step && followsNodes(program))
        assignLike(program);
  }

private:
  static int64_t stageOf(Operation *op) {
    auto stage = op ? op->getAttrOfType<IntegerAttr>(kStageAttr) : nullptr;
    return stage ? stage.getInt() : -1;
  }
  void setStage(Operation *op, int64_t stage) {
    op->setAttr(kStageAttr, Builder(&getContext()).getI64IntegerAttr(stage));
    if (StringRef node = getNodeName(op); !node.empty())
      stageOfNode.try_emplace(node, stage);
  }

  LogicalResult assignByCost(func::FuncOp step, ArrayRef<Operation *> placed) {
    StageMemory memory;
    memory.bytes = double(memoryBytes);
    memory.bytesPerParameter = bytesPerParameter;
    memory.sampleShares = std::max<int64_t>(1, sampleShares);
    memory.keepsCrossing = keepsCrossing;
    MemoryLimit limit;
    ReplicaCosts costs;
    SmallVector<Piece> pieces = cutSegments(step, placed, stages, memory, limit,
                                            dealsRoles ? &costs : nullptr);
    llvm::append_range(limit.inFlight, inFlight);
    std::vector<Segment> segments;
    for (const Piece &piece : pieces)
      segments.push_back(piece.segment);
    const int64_t parts = std::max<int64_t>(1, microBatches);
    if (dealsRoles)
      return deal(step, pieces,
                  partitionReplicated(segments, stages, parts, costs, limit));
    std::optional<Partition> found =
        partition(segments, stages, parts, limit, findLinkShares());
    if (!found) {
      size_t training = llvm::count_if(
          segments, [](const Segment &segment) { return segment.trains; });
      return step.emitError("cannot be cut into ")
             << stages.getValue() << " stages: only " << training
             << " places of it have trained parameters; expected " << training
             << " stages at most, which are pp times the stages of a rank";
    }
    setStages(pieces, found->begins);
    return success();
  }

  /// The shares of the links that messages between the roles of two stages
  /// take; two stages of one role are as near as its ranks are.
  LinkShares findLinkShares() {
    const Target &target = getTarget(getOperation());
    const double slowest = target.linkOf({dist::kRoleAxis}).bytes;
    LinkShares shares(roleOfStage.empty() ? 0 : 1, 1);
    for (size_t stage = 1; stage < roleOfStage.size(); ++stage) {
      const int64_t from = roleOfStage[stage - 1], to = roleOfStage[stage];
      const double bytes = target.linkBetween(dist::kRoleAxis, from, to).bytes;
      shares.push_back(slowest / bytes);
    }
    return shares;
  }

  void setStages(ArrayRef<Piece> pieces, ArrayRef<int64_t> begins) {
    for (size_t stage = 0; stage < begins.size(); ++stage) {
      size_t end =
          stage + 1 < begins.size() ? begins[stage + 1] : pieces.size();
      for (size_t piece = begins[stage]; piece < end; ++piece)
        for (Operation *op : pieces[piece].ops)
          setStage(op, int64_t(stage));
    }
  }

  LogicalResult deal(func::FuncOp step, ArrayRef<Piece> pieces,
                     const std::optional<ReplicatedPartition> &found) {
    if (!found)
      return step.emitError("cannot be dealt to ")
             << stages.getValue() << " roles with " << microBatches.getValue()
             << " micro-batches: there are too few places with trained "
             << "parameters, or fewer micro-batches than replicas";
    setStages(pieces, found->begins);
    count = found->begins.size();
    getOperation()->setAttr(
        kStageReplicasAttr,
        DenseI64ArrayAttr::get(&getContext(), found->replicas));
    return success();
  }

  // --- By a file's rules

  LogicalResult readRules(SmallVectorImpl<StageRule> &rules) {
    SmallVector<StringRef> lines;
    StringRef(patterns).split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef line : lines) {
      auto [text, number] = line.rsplit(' ');
      int64_t stage;
      if (number.getAsInteger(10, stage) || stage < 0 || stage >= stages)
        return getOperation().emitError("stages: expected a stage from 0 to ")
               << stages.getValue() - 1 << ", found '" << line << "'";
      auto pattern = NamePattern::parse(text);
      if (!pattern)
        return getOperation().emitError("stages: ")
               << llvm::toString(pattern.takeError());
      rules.push_back({std::move(*pattern), text.str(), stage});
    }
    return success();
  }

  LogicalResult assignByRules(ArrayRef<Operation *> placed) {
    SmallVector<StageRule> rules;
    if (failed(readRules(rules)))
      return failure();
    SmallVector<bool> used(rules.size(), false);
    int64_t stage = 0;
    for (Operation *op : placed) {
      std::string node = getNodeName(op).str();
      std::string path = onnx::getModulePath(op->getLoc()).str();
      for (auto [index, rule] : llvm::enumerate(rules))
        if (rule.pattern.isIn(node) || rule.pattern.isIn(path)) {
          stage = rule.stage;
          used[index] = true;
          break;
        }
      setStage(op, stage);
    }
    for (auto [rule, found] : llvm::zip(rules, used))
      if (!found)
        return getOperation().emitError("stages: '")
               << rule.text << "' finds no node and no module of the model";
    return checkOrder(placed);
  }

  LogicalResult checkOrder(ArrayRef<Operation *> placed) {
    for (Operation *op : placed)
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (stageOf(producer) <= stageOf(op))
          continue;
        return op->emitError("stages: node '")
               << getNodeName(op) << "' is in stage " << stageOf(op)
               << ", but reads what node '" << getNodeName(producer)
               << "' computes in stage " << stageOf(producer)
               << "; a stage can only read from stages in front of it";
      }
    return success();
  }

  /// Every stage trains something, or it would have nothing to update.
  LogicalResult checkStages(ArrayRef<Operation *> placed) {
    SmallVector<bool> seen(count, false), trained(count, false);
    StateReads reads(placed);
    for (Operation *op : placed) {
      seen[stageOf(op)] = true;
      trained[stageOf(op)] |= reads.trains(op);
    }
    for (int64_t stage = 0; stage < count; ++stage)
      if (!seen[stage])
        return getOperation().emitError("stages: stage ")
               << stage << " of " << count << " has no node";
    for (int64_t stage = 0; stage < count; ++stage)
      if (!trained[stage])
        return getOperation().emitError("stages: stage ")
               << stage << " of " << count
               << " trains no parameter, so that it has nothing to update; "
                  "give it a node that reads one";
    return success();
  }

  void setSeconds(ArrayRef<Operation *> placed) {
    SmallVector<double> seconds(count, 0);
    for (Operation *op : placed)
      seconds[stageOf(op)] += estimateBothPasses(op);
    getOperation()->setAttr(
        kStageSecondsAttr,
        Builder(&getContext()).getDenseF64ArrayAttr(seconds));
  }

  // --- Other programs of the same nodes

  /// Programs without inputs (copies of parameters) follow the states.
  static bool followsNodes(func::FuncOp program) {
    return llvm::any_of(program.getArguments(), [&](BlockArgument argument) {
      return program.getArgAttr(argument.getArgNumber(), kInputAttr);
    });
  }

  void assignLike(func::FuncOp program) {
    // An op without a node of the step, such as a metric, goes to the stage of
    // its operands; one of labels alone, to the stage of the loss.
    for (Operation *op : findPlacedOps(program, kCheapShare)) {
      int64_t stage = -1;
      if (auto found = stageOfNode.find(getNodeName(op));
          found != stageOfNode.end())
        stage = found->second;
      for (Value operand : op->getOperands())
        stage = std::max(stage, stageOf(operand.getDefiningOp()));
      // A larger share of this program than of the step, where it is cheap.
      if (stage < 0 && repeatedNodes.contains(getNodeName(op)))
        continue;
      if (stage < 0)
        stage = count - 1;
      op->setAttr(kStageAttr, Builder(&getContext()).getI64IntegerAttr(stage));
    }
  }

  int64_t count = 0; // of stages
  llvm::StringMap<int64_t> stageOfNode;
  llvm::StringSet<> repeatedNodes; // of ops that each role computes itself
};

} // namespace

} // namespace zc
