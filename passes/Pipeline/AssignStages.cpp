//===- AssignStages.cpp - --zc-assign-stages ------------------------------===//
//
// A program's order is a topological one, so that any cut of it is sound: what
// crosses is sent forwards, whatever stages lie between.
//
//===----------------------------------------------------------------------===//
#include "dialects/Onnx/Location.h"
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Autodiff/ActiveValues.h"
#include "passes/Pipeline/Partition.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/PlacedOps.h"
#include "passes/Target/Target.h"

#include <algorithm>
#include <regex>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

/// Ops that depend on inputs alone are cloned up to this share of the forward.
constexpr double kCheapShare = 0.01;
/// A backward takes about twice its forward.
constexpr double kBothPasses = 3;
/// More segments than this are joined: the search is of their number's fourth
/// power.
constexpr size_t kMostSegments = 64;

/// A line of a stage file.
struct StageRule {
  std::regex pattern;
  std::string text;
  int64_t stage;
};

StringRef nodeOf(Operation *op) {
  auto origin = onnx::getOrigin(op->getLoc());
  return origin ? origin->node : StringRef();
}

double bytesOf(Value value) {
  auto type = cast<ShapedType>(value.getType());
  return double(type.getNumElements()) *
         std::max(1u, type.getElementTypeBitWidth() / 8);
}

/// Placed ops that are never cut apart.
struct Piece {
  SmallVector<Operation *> ops;
  Segment segment;
};

/// Cuts the placed ops of a step where little crosses.
class Cutter {
public:
  Cutter(ArrayRef<Operation *> placed, const MachineRates &rates)
      : placed(placed), rates(rates) {
    for (auto [index, op] : llvm::enumerate(placed))
      positions[op] = index;
    findCrossingBytes();
  }

  SmallVector<Piece> run() {
    SmallVector<Piece> pieces;
    double median = findMedianCut();
    for (auto [index, op] : llvm::enumerate(placed)) {
      if (pieces.empty() || mayCut(index, median))
        pieces.push_back(begin(index));
      add(pieces.back(), op);
    }
    while (pieces.size() > kMostSegments)
      joinShortest(pieces);
    return pieces;
  }

private:
  /// Sets crossing[i] to the bytes of the values that the ops in front of op i
  /// compute and op i or a later one reads.
  void findCrossingBytes() {
    SmallVector<double> change(placed.size() + 1, 0);
    for (auto [index, op] : llvm::enumerate(placed))
      for (Value result : op->getResults()) {
        size_t last = index;
        for (Operation *user : result.getUsers())
          if (auto found = positions.find(user); found != positions.end())
            last = std::max(last, found->second);
        change[index + 1] += bytesOf(result);
        if (last + 1 < change.size())
          change[last + 1] -= bytesOf(result);
      }
    crossing.assign(placed.size(), 0);
    double sum = 0;
    for (size_t i = 0; i < placed.size(); ++i)
      crossing[i] = sum += change[i];
  }

  /// The median of the bytes that cross; a cut above it is no good one.
  double findMedianCut() const {
    if (placed.size() < 2)
      return 0;
    SmallVector<double> sorted(crossing.begin() + 1, crossing.end());
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2,
                     sorted.end());
    return sorted[sorted.size() / 2];
  }

  /// Between nodes, in front of one that reads a parameter, or where little
  /// crosses and less than in front of the next op.
  bool mayCut(size_t index, double median) const {
    StringRef node = nodeOf(placed[index]);
    if (index == 0 || node.empty() || node == nodeOf(placed[index - 1]))
      return false;
    for (size_t i = index; i < placed.size() && nodeOf(placed[i]) == node; ++i)
      if (readsParameter(placed[i]))
        return true;
    return crossing[index] <= median &&
           (index + 1 == placed.size() ||
            crossing[index] <= crossing[index + 1]) &&
           crossing[index] < crossing[index - 1];
  }

  static bool readsParameter(Operation *op) {
    return llvm::any_of(op->getOperands(), followsTrained);
  }

  /// Directly, or through ops that every role computes for itself.
  static bool followsTrained(Value value) {
    if (isa<BlockArgument>(value))
      return isTrained(value);
    Operation *op = value.getDefiningOp();
    return op->getNumOperands() == 1 && followsTrained(op->getOperand(0));
  }

  Piece begin(size_t index) const {
    Piece piece;
    if (index > 0 && rates.link.bytes > 0)
      piece.segment.cutSeconds = 2 * crossing[index] / rates.link.bytes;
    return piece;
  }

  static void add(Piece &piece, Operation *op) {
    piece.ops.push_back(op);
    piece.segment.seconds += kBothPasses * estimateOpSeconds(op);
    piece.segment.trains |= readsParameter(op);
  }

  /// Two neighbours that take least together.
  static void joinShortest(SmallVector<Piece> &pieces) {
    size_t best = 0;
    for (size_t i = 0; i + 1 < pieces.size(); ++i)
      if (sum(pieces, i) < sum(pieces, best))
        best = i;
    Piece &first = pieces[best], &second = pieces[best + 1];
    llvm::append_range(first.ops, second.ops);
    first.segment.seconds += second.segment.seconds;
    first.segment.trains |= second.segment.trains;
    pieces.erase(pieces.begin() + best + 1);
  }
  static double sum(ArrayRef<Piece> pieces, size_t i) {
    return pieces[i].segment.seconds + pieces[i + 1].segment.seconds;
  }

  ArrayRef<Operation *> placed;
  const MachineRates &rates;
  DenseMap<Operation *, size_t> positions;
  SmallVector<double> crossing;
};

struct AssignStages : public impl::AssignStagesPassBase<AssignStages> {
  using AssignStagesPassBase::AssignStagesPassBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!step) {
      getOperation().emitError("expected @step");
      return signalPassFailure();
    }
    SmallVector<Operation *> placed = findPlacedOps(step, kCheapShare);
    LogicalResult assigned =
        patterns.empty() ? assignByCost(step, placed) : assignByRules(placed);
    if (failed(assigned) || failed(checkStages(step)))
      return signalPassFailure();
    setSeconds(placed);
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
    if (StringRef node = nodeOf(op); !node.empty())
      stageOfNode.try_emplace(node, stage);
  }

  LogicalResult assignByCost(func::FuncOp step, ArrayRef<Operation *> placed) {
    SmallVector<Piece> pieces = Cutter(placed, getTarget(step).rates()).run();
    std::vector<Segment> segments;
    for (const Piece &piece : pieces)
      segments.push_back(piece.segment);
    std::optional<Partition> found =
        partition(segments, stages, std::max<int64_t>(1, microBatches));
    if (!found) {
      size_t training = llvm::count_if(
          segments, [](const Segment &segment) { return segment.trains; });
      return step.emitError("cannot be cut into ")
             << stages.getValue() << " stages: only " << training
             << " places of it have trained parameters; expected pp="
             << training << " at most";
    }
    for (size_t stage = 0; stage < found->begins.size(); ++stage) {
      size_t end = stage + 1 < found->begins.size() ? found->begins[stage + 1]
                                                    : pieces.size();
      for (size_t piece = found->begins[stage]; piece < end; ++piece)
        for (Operation *op : pieces[piece].ops)
          setStage(op, int64_t(stage));
    }
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
      rules.push_back({std::regex(text.str()), text.str(), stage});
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
      std::string node = nodeOf(op).str();
      std::string path = onnx::getModulePath(op->getLoc()).str();
      for (auto [index, rule] : llvm::enumerate(rules))
        if (std::regex_search(node, rule.pattern) ||
            std::regex_search(path, rule.pattern)) {
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
               << nodeOf(op) << "' is in stage " << stageOf(op)
               << ", but reads what node '" << nodeOf(producer)
               << "' computes in stage " << stageOf(producer)
               << "; a stage can only read from stages in front of it";
      }
    return success();
  }

  /// Every stage trains something, or it would have nothing to update.
  LogicalResult checkStages(func::FuncOp step) {
    SmallVector<bool> seen(stages, false), trains(stages, false);
    // Parameters, and what roles compute of them for themselves.
    DenseSet<Value> trained;
    for (BlockArgument argument : step.getArguments())
      if (isTrained(argument))
        trained.insert(argument);
    for (Operation &op : step.getBody().front()) {
      bool reads = llvm::any_of(op.getOperands(), [&](Value operand) {
        return trained.contains(operand);
      });
      if (int64_t stage = stageOf(&op); stage >= 0) {
        seen[stage] = true;
        trains[stage] |= reads;
      } else if (reads) {
        trained.insert(op.result_begin(), op.result_end());
      }
    }
    for (int64_t stage = 0; stage < stages; ++stage) {
      if (!seen[stage])
        return getOperation().emitError("stages: stage ")
               << stage << " of " << stages.getValue() << " has no node";
      if (!trains[stage])
        return getOperation().emitError("stages: stage ")
               << stage << " of " << stages.getValue()
               << " trains no parameter, so that it has nothing to update; "
                  "give it a node that reads one";
    }
    return success();
  }

  void setSeconds(ArrayRef<Operation *> placed) {
    SmallVector<double> seconds(stages, 0);
    for (Operation *op : placed)
      seconds[stageOf(op)] += kBothPasses * estimateOpSeconds(op);
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
    // What has no node of the step, as metrics, belongs to what it reads; of
    // labels alone, to the loss.
    for (Operation *op : findPlacedOps(program, kCheapShare)) {
      int64_t stage = -1;
      if (auto found = stageOfNode.find(nodeOf(op)); found != stageOfNode.end())
        stage = found->second;
      for (Value operand : op->getOperands())
        stage = std::max(stage, stageOf(operand.getDefiningOp()));
      if (stage < 0)
        stage = stages - 1;
      op->setAttr(kStageAttr, Builder(&getContext()).getI64IntegerAttr(stage));
    }
  }

  llvm::StringMap<int64_t> stageOfNode;
};

} // namespace

} // namespace zc
