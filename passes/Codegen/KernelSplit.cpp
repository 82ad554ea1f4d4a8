//===- KernelSplit.cpp - a kernel's work in equal blocks ------------------===//
#include "passes/Codegen/KernelSplit.h"

#include "dialects/Interfaces/OpInterfaces.h"
#include "passes/Analysis/ValueFactors.h"
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

/// The factors of a kernel's body: dims that are one dim for all its ops.
class BodyFactors {
public:
  explicit BodyFactors(Block &body) {
    for (Value argument : body.getArguments())
      factors.name(argument);
    for (Operation &op : body.without_terminator())
      factors.add(&op, cast<ShardableOpInterface>(op).getShardingRule());
  }

  int factorOf(Value value, int64_t dim) const {
    return factors.factorOf(value, dim);
  }
  bool isParallel(int id) const { return get(id).isParallel(); }
  int64_t size(int id) const { return get(id).size; }
  const llvm::MapVector<Value, ValueFactors::Dims> &values() const {
    return factors.getValues();
  }

private:
  const ProgramFactor &get(int id) const {
    return factors.getProjection().getFactor(id);
  }

  ValueFactors factors;
};

/// Whether outputs of one shape, which share a loop nest, have a factor at one
/// dim: a square value and its transpose have it at two, and their blocks would
/// have different shapes.
bool isAligned(const BodyFactors &factors, ValueRange outputs, int id) {
  llvm::MapVector<ArrayRef<int64_t>, int64_t> dimOf;
  for (Value output : outputs) {
    ArrayRef<int64_t> shape = cast<ShapedType>(output.getType()).getShape();
    for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim)
      if (factors.factorOf(output, dim) == id &&
          dimOf.insert({shape, dim}).first->second != dim)
        return false;
  }
  return true;
}

/// Factors that may be cut: parallel everywhere, a dim of every output, and no
/// value has two of them.
SmallVector<int> findCandidates(const BodyFactors &factors, Block &body) {
  auto outputs = body.getTerminator()->getOperands();
  auto count = [&](Value value, int id) {
    int found = 0;
    int64_t rank = cast<ShapedType>(value.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      found += factors.factorOf(value, dim) == id;
    return found;
  };
  SmallVector<int> candidates;
  if (outputs.empty())
    return candidates;
  Value first = outputs.front();
  int64_t rank = cast<ShapedType>(first.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    int id = factors.factorOf(first, dim);
    if (!factors.isParallel(id) || factors.size(id) == 1)
      continue;
    bool everywhere = llvm::all_of(
        outputs, [&](Value output) { return count(output, id) == 1; });
    bool twice = llvm::any_of(factors.values(), [&](const auto &item) {
      return count(item.first, id) > 1;
    });
    if (everywhere && !twice && isAligned(factors, outputs, id))
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

bool isInnermostOf(const BodyFactors &factors, int id, Value value) {
  int64_t rank = cast<ShapedType>(value.getType()).getRank();
  return rank > 0 && factors.factorOf(value, rank - 1) == id;
}

int64_t largestValue(const BodyFactors &factors) {
  int64_t largest = 0;
  for (const auto &item : factors.values())
    largest = std::max(largest, countElements(item.first));
  return largest;
}

bool isInnermost(const BodyFactors &factors, int id,
                 Innermost which = Innermost::OfAny) {
  constexpr int64_t kFew = 64;
  int64_t least = which == Innermost::OfAny ? 0 : largestValue(factors) / kFew;
  return llvm::any_of(factors.values(), [&](const auto &item) {
    return isInnermostOf(factors, id, item.first) &&
           countElements(item.first) >= least;
  });
}

/// Blocks of the candidates, innermost first as large as the budget allows.
SmallVector<int64_t> chooseBlocks(const BodyFactors &factors,
                                  ArrayRef<int> candidates) {
  int64_t work = 1;
  for (const auto &item : factors.values())
    work =
        std::max(work, cast<ShapedType>(item.first.getType()).getNumElements());
  for (int id : candidates)
    work = std::max<int64_t>(work / std::max<int64_t>(factors.size(id), 1), 1);
  SmallVector<int64_t> blocks(candidates.size(), 1);
  for (size_t i = candidates.size(); i > 0; --i) {
    int id = candidates[i - 1];
    int64_t size = factors.size(id);
    int64_t block =
        largestDivisor(size, std::max<int64_t>(kBlockElements / work, 1));
    if (isInnermost(factors, id))
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

static KernelSplit makeSplit(const BodyFactors &factors,
                             ArrayRef<int> candidates,
                             ArrayRef<int64_t> blocks) {
  KernelSplit split;
  llvm::DenseMap<int, int> loopOf;
  for (auto [id, block] : llvm::zip(candidates, blocks)) {
    if (block == factors.size(id))
      continue;
    loopOf[id] = split.loops.size();
    split.loops.push_back({factors.size(id) / block, block});
  }
  for (const auto &item : factors.values()) {
    SmallVector<int> dims;
    int64_t rank = cast<ShapedType>(item.first.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      auto found = loopOf.find(factors.factorOf(item.first, dim));
      dims.push_back(found == loopOf.end() ? -1 : found->second);
    }
    split.dims[item.first] = dims;
  }
  return split;
}

KernelSplit chooseSplit(Block &body) {
  BodyFactors factors(body);
  SmallVector<int> candidates = findCandidates(factors, body);
  return makeSplit(factors, candidates, chooseBlocks(factors, candidates));
}

KernelSplit chooseRowSplit(Block &body, int64_t elements) {
  BodyFactors factors(body);
  SmallVector<int> candidates = findCandidates(factors, body);
  int64_t left = elements;
  int64_t row = largestValue(factors);
  for (int id : candidates)
    row /= factors.size(id);
  left /= std::max<int64_t>(row, 1);
  SmallVector<int64_t> blocks(candidates.size(), 1);
  for (size_t i = candidates.size(); i > 0 && left > 1; --i) {
    int64_t size = factors.size(candidates[i - 1]);
    blocks[i - 1] = largestDivisor(size, left);
    if (blocks[i - 1] < size)
      break;
    left /= size;
  }
  return makeSplit(factors, candidates, blocks);
}

KernelSplit chooseSplit(Block &body, BlockChooser blockOf, Innermost which) {
  BodyFactors factors(body);
  SmallVector<int> candidates = findCandidates(factors, body);
  auto blocks = llvm::map_to_vector(candidates, [&](int id) {
    return blockOf(factors.size(id), isInnermost(factors, id, which));
  });
  return makeSplit(factors, candidates, blocks);
}

} // namespace zc
