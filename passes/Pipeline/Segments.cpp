//===- Segments.cpp - the parts of a step that stages are made of ---------===//
#include "passes/Pipeline/Segments.h"

#include "dialects/Dist/Axes.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Onnx/Location.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Pipeline/PlacedOps.h"
#include "passes/Pipeline/Stash.h"
#include "passes/Target/Target.h"

#include <algorithm>

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

/// A backward takes about twice its forward.
constexpr double kBothPasses = 3;
/// With so many layers to a stage, only whole layers are dealt out: few values
/// cross between them, and roles of equal layers are alike.
constexpr int64_t kEnoughLayers = 4;
/// More segments than this, or than two for each stage, are joined: the search
/// is of their number's fourth power.
constexpr int64_t kManySegments = 128, kMostSegments = 256;

/// Cuts the placed ops of a step where little crosses.
class Cutter {
public:
  Cutter(ArrayRef<Operation *> placed, double linkBytes)
      : placed(placed), linkBytes(linkBytes), reads(placed) {
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
    return pieces;
  }

  /// The bytes of the values that the ops in front of `op` compute and `op` or
  /// a later one reads.
  double getCrossing(Operation *op) const {
    return crossing[positions.lookup(op)];
  }

private:
  /// crossing[i] is getCrossing() of op i.
  void findCrossingBytes() {
    SmallVector<double> change(placed.size() + 1, 0);
    for (auto [index, op] : llvm::enumerate(placed))
      for (Value result : op->getResults()) {
        size_t last = index;
        for (Operation *user : result.getUsers())
          if (auto found = positions.find(user); found != positions.end())
            last = std::max(last, found->second);
        change[index + 1] += double(bytesOf(result));
        if (last + 1 < change.size())
          change[last + 1] -= double(bytesOf(result));
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
    StringRef node = getNodeName(placed[index]);
    if (index == 0 || node.empty() || node == getNodeName(placed[index - 1]))
      return false;
    for (size_t i = index; i < placed.size() && getNodeName(placed[i]) == node;
         ++i)
      if (reads.trains(placed[i]))
        return true;
    return crossing[index] <= median &&
           (index + 1 == placed.size() ||
            crossing[index] <= crossing[index + 1]) &&
           crossing[index] < crossing[index - 1];
  }

  Piece begin(size_t index) const {
    Piece piece;
    if (index > 0)
      piece.segment.cutSeconds = 2 * crossing[index] / linkBytes;
    return piece;
  }

  void add(Piece &piece, Operation *op) const {
    piece.ops.push_back(op);
    piece.segment.seconds += estimateBothPasses(op);
    piece.segment.trains |= reads.trains(op);
  }

  ArrayRef<Operation *> placed;
  double linkBytes; // between stages, per second
  DenseMap<Operation *, size_t> positions;
  SmallVector<double> crossing;
  StateReads reads;
};

/// The layer that an op is in, or the module; empty: unknown.
StringRef getLayer(Operation *op) {
  StringRef path = onnx::getModulePath(op->getLoc());
  StringRef layer = onnx::getLayerPath(path);
  return layer.empty() ? path : layer;
}

/// Says what segments take of a rank's memory.
class MemoryEstimator {
public:
  MemoryEstimator(func::FuncOp step, const StageMemory &memory,
                  MemoryLimit &limit, ReplicaCosts *replicas)
      : step(step), memory(memory), limit(limit), replicas(replicas) {
    limit.bytes = memory.bytes;
  }

  void run(MutableArrayRef<Piece> pieces, ArrayRef<Operation *> placed,
           const Cutter &cutter) {
    StateReads reads(placed);
    SmallVector<double> stash = estimateStash(step, placed);
    const double *ofOp = stash.begin();
    StringRef layer;
    for (Piece &piece : pieces) {
      double bytes = 0, work = 0;
      for (Operation *op : piece.ops) {
        bytes += *ofOp++;
        work = std::max(work, countWork(op));
        for (StateOp state : reads.find(op)) {
          addTensor(piece.segment, state);
          piece.segment.isSingle |= isRunning(state);
        }
      }
      StringRef next = getLayer(piece.ops.front());
      if (memory.keepsCrossing)
        bytes = next.empty() || next != layer
                    ? std::min(bytes, cutter.getCrossing(piece.ops.front()))
                    : 0;
      layer = getLayer(piece.ops.back());
      const double shares = double(memory.sampleShares);
      piece.segment.stashBytes = bytes / shares;
      piece.segment.workBytes = work / shares;
      piece.segment.cutBytes = cutter.getCrossing(piece.ops.front()) / shares;
    }
  }

private:
  /// The values that an op reads and makes, and their gradients; states are
  /// there in any case.
  static double countWork(Operation *op) {
    double bytes = 0;
    for (Value operand : op->getOperands())
      if (operand.getDefiningOp())
        bytes += double(bytesOf(operand));
    for (Value result : op->getResults())
      bytes += double(bytesOf(result));
    return 2 * bytes;
  }

  /// A statistic that the step updates.
  bool isRunning(StateOp state) {
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (step.getResultAttr(i, kStateAttr) == symbol)
        return state.getKind() == kStatistic;
    return false;
  }

  /// Copies are counted with their parameter.
  void addTensor(Segment &segment, StateOp state) {
    if (state.getKind() == kCopy)
      return;
    auto [number, isNew] = numbers.try_emplace(state, numbers.size());
    if (isNew)
      addCosts(state);
    if (!llvm::is_contained(segment.tensors, number->second))
      segment.tensors.push_back(number->second);
  }

  void addCosts(StateOp state) {
    RankedTensorType type = state.getTensorType();
    const bool isTrained = state.getKind() == kParameter;
    double elements = double(type.getNumElements());
    if (auto sharding =
            state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr))
      for (ArrayAttr dim : sharding.getDims())
        elements /= double(dist::getGroupSize(dist::getMesh(state), dim));
    limit.tensorBytes.push_back(
        elements * (isTrained
                        ? memory.bytesPerParameter
                        : std::max(1u, type.getElementTypeBitWidth() / 8)));
    // Sums of micro-batches are float32.
    if (replicas)
      replicas->gradientBytes.push_back(isTrained ? 4 * elements : 0);
  }

  func::FuncOp step;
  const StageMemory &memory;
  MemoryLimit &limit;
  ReplicaCosts *replicas;
  DenseMap<Operation *, size_t> numbers; // of tensors, by state
};

/// Piece `index` becomes a part of the one in front of it.
void joinWithPrevious(SmallVector<Piece> &pieces, size_t index) {
  Piece &first = pieces[index - 1], &second = pieces[index];
  llvm::append_range(first.ops, second.ops);
  first.segment.seconds += second.segment.seconds;
  first.segment.trains |= second.segment.trains;
  pieces.erase(pieces.begin() + index);
}

/// Two neighbours that take least together become one.
void joinShortest(SmallVector<Piece> &pieces) {
  auto secondsOf = [&](size_t i) {
    return pieces[i].segment.seconds + pieces[i + 1].segment.seconds;
  };
  size_t best = 0;
  for (size_t i = 0; i + 1 < pieces.size(); ++i)
    if (secondsOf(i) < secondsOf(best))
      best = i;
  joinWithPrevious(pieces, best + 1);
}

/// The same with no cut within a layer.
SmallVector<Piece> joinLayers(SmallVector<Piece> pieces) {
  StringRef current;
  size_t done = 0;
  while (done < pieces.size()) {
    StringRef layer = getLayer(pieces[done].ops.front());
    bool goesOn = done > 0 && (layer.empty() || layer == current);
    for (Operation *op : pieces[done].ops)
      if (StringRef other = getLayer(op); !other.empty())
        current = other;
    if (goesOn)
      joinWithPrevious(pieces, done);
    else
      ++done;
  }
  return pieces;
}

} // namespace

llvm::SetVector<StateOp> StateReads::find(Operation *op) const {
  llvm::SetVector<StateOp> found;
  SmallVector<Value> left(op->getOperands());
  DenseSet<Operation *> seen;
  for (size_t i = 0; i < left.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(left[i])) {
      StateOp state = findState(argument);
      if (!state)
        continue;
      found.insert(state);
      if (state.getKind() == kCopy)
        found.insert(train::findState(
            state,
            FlatSymbolRefAttr::get(op->getContext(), *state.getParameter())));
      continue;
    }
    Operation *producer = left[i].getDefiningOp();
    if (!placed.contains(producer) && seen.insert(producer).second)
      llvm::append_range(left, producer->getOperands());
  }
  return found;
}

bool StateReads::trains(Operation *op) const {
  return llvm::any_of(
      find(op), [](StateOp state) { return state.getKind() == kParameter; });
}

StringRef getNodeName(Operation *op) {
  auto origin = onnx::getOrigin(op->getLoc());
  return origin ? origin->node : StringRef();
}

double estimateBothPasses(Operation *op) {
  return kBothPasses * estimateOpSeconds(op);
}

SmallVector<Piece> cutSegments(func::FuncOp step, ArrayRef<Operation *> placed,
                               int64_t stages, const StageMemory &memory,
                               MemoryLimit &limit, ReplicaCosts *replicas) {
  const LinkRates link = getTarget(step).linkOf({dist::kRoleAxis});
  Cutter cutter(placed, link.bytes);
  SmallVector<Piece> pieces = cutter.run();
  const int64_t most = std::clamp(2 * stages, kManySegments, kMostSegments);
  // Where pieces have to be joined anyway, layers are the better pieces.
  if (SmallVector<Piece> layers = joinLayers(pieces);
      int64_t(layers.size()) >= kEnoughLayers * stages ||
      (int64_t(pieces.size()) > most && int64_t(layers.size()) >= stages))
    pieces = std::move(layers);
  while (int64_t(pieces.size()) > most)
    joinShortest(pieces);
  if (memory.bytes > 0 || replicas)
    MemoryEstimator(step, memory, limit, replicas).run(pieces, placed, cutter);
  if (replicas)
    replicas->linkBytes = link.bytes;
  return pieces;
}

} // namespace zc
