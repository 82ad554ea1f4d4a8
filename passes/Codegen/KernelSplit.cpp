//===- KernelSplit.cpp - a kernel's work in equal blocks ------------------===//
#include "passes/Codegen/KernelSplit.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace zc {

int64_t KernelSplit::grid() const {
  int64_t product = 1;
  for (const SplitLoop &loop : loops)
    product *= loop.blocks;
  return product;
}

SmallVector<int64_t> KernelSplit::localShape(Value value) const {
  SmallVector<int64_t> shape(cast<ShapedType>(value.getType()).getShape());
  auto found = dims.find(value);
  if (found == dims.end())
    return shape;
  for (auto [dim, loop] : llvm::enumerate(found->second))
    if (loop >= 0)
      shape[dim] = loops[loop].block;
  return shape;
}

int64_t largestDivisor(int64_t size, int64_t atMost) {
  for (int64_t divisor = std::min(size, atMost); divisor > 1; --divisor)
    if (size % divisor == 0)
      return divisor;
  return 1;
}

namespace {

/// Elements that one block should have: enough to hide a call and to fill
/// vectors, few enough to stay in the first-level caches.
constexpr int64_t kBlockElements = 16 * 1024;
/// Elements of the innermost dim that a block keeps together if it can.
constexpr int64_t kMinRow = 64, kMinShortRow = 16;

/// A dim of a value, and the classes of dims that are one dim for all ops.
class DimClasses {
public:
  explicit DimClasses(Block &body) {
    for (Value argument : body.getArguments())
      addValue(argument);
    for (Operation &op : body.without_terminator()) {
      for (Value result : op.getResults())
        addValue(result);
      unite(&op);
    }
  }

  int classOf(Value value, int64_t dim) const {
    return find(ids.lookup(value)[dim]);
  }
  bool isWhole(int id) const { return whole[find(id)]; }
  int64_t size(int id) const { return sizes[find(id)]; }
  const llvm::MapVector<Value, SmallVector<int>> &values() const { return ids; }

private:
  void addValue(Value value) {
    SmallVector<int> dims;
    for (int64_t size : cast<ShapedType>(value.getType()).getShape()) {
      dims.push_back(parents.size());
      parents.push_back(parents.size());
      whole.push_back(false);
      sizes.push_back(size);
    }
    ids[value] = dims;
  }

  int find(int id) const {
    while (parents[id] != id)
      id = parents[id];
    return id;
  }

  void join(int a, int b) {
    a = find(a);
    b = find(b);
    if (a == b)
      return;
    parents[b] = a;
    whole[a] = whole[a] || whole[b];
  }

  void unite(Operation *op) {
    auto shardable = cast<ShardableOpInterface>(op);
    ShardingRule rule = shardable.getShardingRule();
    SmallVector<int> factorClass(rule.factors.size(), -1);
    auto visit = [&](Value value, ArrayRef<int> dims) {
      for (auto [dim, factor] : llvm::enumerate(dims)) {
        int id = ids[value][dim];
        if (factor == ShardingRule::kWhole) {
          whole[find(id)] = true;
          continue;
        }
        // A block of elements is no block of what a dim has for each of them.
        if (rule.factors[factor].kind != FactorKind::Parallel ||
            sizes[id] != rule.factors[factor].size)
          whole[find(id)] = true;
        if (factorClass[factor] < 0)
          factorClass[factor] = id;
        else
          join(factorClass[factor], id);
      }
    };
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      visit(operand, rule.operandDims[index]);
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      visit(result, rule.resultDims[index]);
  }

  llvm::MapVector<Value, SmallVector<int>> ids;
  SmallVector<int> parents;
  SmallVector<bool> whole;
  SmallVector<int64_t> sizes;
};

/// Whether outputs of one shape, which share a loop nest, have the class at one
/// dim: a square value and its transpose have it at two, and their blocks would
/// have different shapes.
bool isAligned(const DimClasses &classes, ValueRange outputs, int id) {
  llvm::MapVector<ArrayRef<int64_t>, int64_t> dimOf;
  for (Value output : outputs) {
    ArrayRef<int64_t> shape = cast<ShapedType>(output.getType()).getShape();
    for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim)
      if (classes.classOf(output, dim) == id &&
          dimOf.insert({shape, dim}).first->second != dim)
        return false;
  }
  return true;
}

/// Classes that may be cut: parallel everywhere, a dim of every output, and no
/// value has two of them.
SmallVector<int> findCandidates(const DimClasses &classes, Block &body) {
  auto outputs = body.getTerminator()->getOperands();
  auto count = [&](Value value, int id) {
    int found = 0;
    int64_t rank = cast<ShapedType>(value.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      found += classes.classOf(value, dim) == id;
    return found;
  };
  SmallVector<int> candidates;
  if (outputs.empty())
    return candidates;
  Value first = outputs.front();
  int64_t rank = cast<ShapedType>(first.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    int id = classes.classOf(first, dim);
    if (classes.isWhole(id) || classes.size(id) == 1)
      continue;
    bool everywhere = llvm::all_of(
        outputs, [&](Value output) { return count(output, id) == 1; });
    bool twice = llvm::any_of(classes.values(), [&](const auto &item) {
      return count(item.first, id) > 1;
    });
    if (everywhere && !twice && isAligned(classes, outputs, id))
      candidates.push_back(id);
  }
  return candidates;
}

int64_t smallestDivisor(int64_t size, int64_t atLeast) {
  for (int64_t divisor = std::max<int64_t>(atLeast, 1); divisor < size;
       ++divisor)
    if (size % divisor == 0)
      return divisor;
  return size;
}

int64_t countElements(Value value) {
  return cast<ShapedType>(value.getType()).getNumElements();
}

bool isInnermostOf(const DimClasses &classes, int id, Value value) {
  int64_t rank = cast<ShapedType>(value.getType()).getRank();
  return rank > 0 && classes.classOf(value, rank - 1) == id;
}

int64_t largestValue(const DimClasses &classes) {
  int64_t largest = 0;
  for (const auto &item : classes.values())
    largest = std::max(largest, countElements(item.first));
  return largest;
}

bool isInnermost(const DimClasses &classes, int id,
                 Innermost which = Innermost::OfAny) {
  constexpr int64_t kFew = 64;
  int64_t least = which == Innermost::OfAny ? 0 : largestValue(classes) / kFew;
  return llvm::any_of(classes.values(), [&](const auto &item) {
    return isInnermostOf(classes, id, item.first) &&
           countElements(item.first) >= least;
  });
}

/// Blocks of the candidates, innermost first as large as the budget allows.
SmallVector<int64_t> chooseBlocks(const DimClasses &classes,
                                  ArrayRef<int> candidates) {
  int64_t work = 1;
  for (const auto &item : classes.values())
    work =
        std::max(work, cast<ShapedType>(item.first.getType()).getNumElements());
  for (int id : candidates)
    work = std::max<int64_t>(work / std::max<int64_t>(classes.size(id), 1), 1);
  SmallVector<int64_t> blocks(candidates.size(), 1);
  for (size_t i = candidates.size(); i > 0; --i) {
    int id = candidates[i - 1];
    int64_t size = classes.size(id);
    int64_t block =
        largestDivisor(size, std::max<int64_t>(kBlockElements / work, 1));
    if (isInnermost(classes, id))
      block = std::max(
          block,
          smallestDivisor(size, size >= 4 * kMinRow ? kMinRow : kMinShortRow));
    blocks[i - 1] = block;
    work *= block;
    if (block < size && work * 2 > kBlockElements)
      break;
  }
  return blocks;
}

} // namespace

bool splitsWell(int64_t size) {
  constexpr int64_t kTooSmall = kBlockElements / 16;
  return size <= kBlockElements ||
         largestDivisor(size, kBlockElements) >= kTooSmall;
}

static KernelSplit makeSplit(const DimClasses &classes,
                             ArrayRef<int> candidates,
                             ArrayRef<int64_t> blocks) {
  KernelSplit split;
  llvm::DenseMap<int, int> loopOf;
  for (auto [id, block] : llvm::zip(candidates, blocks)) {
    if (block == classes.size(id))
      continue;
    loopOf[id] = split.loops.size();
    split.loops.push_back({classes.size(id) / block, block});
  }
  for (const auto &item : classes.values()) {
    SmallVector<int> dims;
    int64_t rank = cast<ShapedType>(item.first.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      auto found = loopOf.find(classes.classOf(item.first, dim));
      dims.push_back(found == loopOf.end() ? -1 : found->second);
    }
    split.dims[item.first] = dims;
  }
  return split;
}

KernelSplit chooseSplit(Block &body) {
  DimClasses classes(body);
  SmallVector<int> candidates = findCandidates(classes, body);
  return makeSplit(classes, candidates, chooseBlocks(classes, candidates));
}

KernelSplit chooseRowSplit(Block &body, int64_t elements) {
  DimClasses classes(body);
  SmallVector<int> candidates = findCandidates(classes, body);
  int64_t left = elements;
  int64_t row = largestValue(classes);
  for (int id : candidates)
    row /= classes.size(id);
  left /= std::max<int64_t>(row, 1);
  SmallVector<int64_t> blocks(candidates.size(), 1);
  for (size_t i = candidates.size(); i > 0 && left > 1; --i) {
    int64_t size = classes.size(candidates[i - 1]);
    blocks[i - 1] = largestDivisor(size, left);
    if (blocks[i - 1] < size)
      break;
    left /= size;
  }
  return makeSplit(classes, candidates, blocks);
}

KernelSplit chooseSplit(Block &body, BlockChooser blockOf, Innermost which) {
  DimClasses classes(body);
  SmallVector<int> candidates = findCandidates(classes, body);
  auto blocks = llvm::map_to_vector(candidates, [&](int id) {
    return blockOf(classes.size(id), isInnermost(classes, id, which));
  });
  return makeSplit(classes, candidates, blocks);
}

} // namespace zc
