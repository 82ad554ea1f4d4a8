//===- RegionGrouping.cpp - which ops become one kernel -------------------===//
//
// Ops are visited from last to first. An elementwise op joins the region of its
// earliest user if that is a loop nest over the same shape and the region would
// not come to depend on itself; the region also stores its result if others
// need it. It joins a reduction's if nobody else needs it: then it never is in
// memory.
//
//===----------------------------------------------------------------------===//
#include "passes/Fusion/RegionGrouping.h"

#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Views.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

/// Regions this large compile slowly and gain nothing more.
static constexpr size_t kMaxRegionOps = 64;
/// Constants up to this size are cheaper written again than kept.
static constexpr int64_t kSmallConstant = 4096;
/// A kernel of fewer sums than this cannot be split over threads as one of as
/// many elements could.
static constexpr int64_t kFewSums = 128;

static ArrayRef<int64_t> shapeOfResult(Operation *op) {
  return cast<ShapedType>(op->getResult(0).getType()).getShape();
}

static bool isLoopOp(Operation *op) {
  return isa<ElementwiseOpInterface>(op) || isMovedRead(op) ||
         isJoinOfHalves(op);
}

/// Whether loops compute `op` for a half that they join, of another shape than
/// theirs.
static bool isOfHalf(Operation *op) {
  if (!op->hasOneUse())
    return false;
  Operation *user = *op->getUsers().begin();
  return isJoinOfHalves(user) ||
         (isLoopOp(user) && !isa<BroadcastOp>(user) && isOfHalf(user));
}

bool keepsRows(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose)
    return true;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  return permutation.empty() ||
         permutation.back() == static_cast<int64_t>(permutation.size()) - 1;
}

/// The other form of a float of 16 bits is cheaper made again than kept.
static bool isWidening(Operation *op) {
  auto convert = dyn_cast<ConvertOp>(op);
  auto elementOf = [](Value value) {
    return cast<ShapedType>(value.getType()).getElementType();
  };
  return convert &&
         isa<Float16Type, BFloat16Type>(elementOf(convert.getInput())) &&
         elementOf(convert.getResult()).isF32();
}

/// Whether `root` adds up (or the like) values of the shape that `op` computes,
/// and there is parallel work left where the sums become one loop nest with it.
static bool mayFeedReduction(Operation *op, Operation *root) {
  return isPlainReduction(root) &&
         numElements(root->getResult(0).getType()) >= kFewSums &&
         cast<ShapedType>(root->getOperand(0).getType()).getShape() ==
             shapeOfResult(op);
}

bool RegionGrouping::isRepeated(Operation *op, Operation *user) {
  if (isWidening(op) || op->hasAttr(kRepeatedAttr))
    return isLoopOp(user);
  if (!isSplatConstant(op) && !isa<BroadcastOp>(op))
    return false;
  if (isLoopOp(user))
    return true;
  auto form = dyn_cast<LinalgFormOpInterface>(user);
  if (!form || isa<ReshapeOp>(user) || !isSplatConstant(op))
    return false;
  auto type = cast<ShapedType>(op->getResult(0).getType());
  if (type.getNumElements() <= kSmallConstant)
    return true;
  for (OpOperand &operand : user->getOpOperands())
    for (unsigned result = 0; result < user->getNumResults(); ++result)
      if (operand.get() == op->getResult(0) &&
          form.mayShareBuffer(operand.getOperandNumber(), result))
        return true;
  return false;
}

bool RegionGrouping::isRepeatedWidening(Operation *op) {
  return isWidening(op) && llvm::all_of(op->getUsers(), isLoopOp);
}

/// The users of `op`; in place of one that is repeated, those that repeat it.
static SmallVector<Operation *> findReaders(Operation *op) {
  SmallVector<Operation *> readers;
  for (Operation *user : op->getUsers())
    if (user->hasAttr(kRepeatedAttr) ||
        RegionGrouping::isRepeatedWidening(user))
      llvm::append_range(readers, findReaders(user));
    else
      readers.push_back(user);
  return readers;
}

RegionGrouping::RegionGrouping(Block &block) : block(block) {
  int index = 0;
  for (Operation &op : block)
    order[&op] = index++;
  if (auto program = dyn_cast<func::FuncOp>(block.getParentOp());
      program && program->getParentOp()->hasAttr(kRoleAttr)) {
    const bool isMicro = program.getSymName() == kMicroProgram;
    if (isMicro || program.getSymName() == kEvalProgram)
      parts.emplace(program, /*hasBackward=*/isMicro);
  }
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (!isa<ReshapeOp, FusedOp>(op) && !isPartInPlace(&op))
      place(&op);
  for (RegionGroup &group : groups)
    llvm::sort(group.ops,
               [&](Operation *a, Operation *b) { return order[a] < order[b]; });
}

void RegionGrouping::place(Operation *op) {
  bool needed = llvm::any_of(
      op->getUsers(), [&](Operation *user) { return !isRepeated(op, user); });
  if (!needed)
    return;
  int group =
      isSplatConstant(op) || isa<BroadcastOp>(op) ? -1 : findGroupToJoin(op);
  if (group < 0) {
    group = groups.size();
    groups.push_back({{}, isInlinable(op)});
  }
  addToGroup(op, group);
}

int RegionGrouping::findGroupToJoin(Operation *op) {
  auto sum = dyn_cast<AddOp>(op);
  if (!isLoopOp(op) || !keepsRows(op) || (sum && sum.getRunningSum()))
    return -1;
  Operation *first = nullptr;
  for (Operation *user : findReaders(op))
    if (!first || order[user] < order[first])
      first = user;
  // A broadcast repeated in a later region reads this value from memory.
  auto found = groupOf.find(first);
  if (found == groupOf.end())
    return -1;
  RegionGroup &group = groups[found->second];
  Operation *root = group.ops.front();
  bool fits = group.ops.size() < kMaxRegionOps &&
              (!parts || parts->partOf(root) == parts->partOf(op));
  if (isLoopOp(root))
    fits = fits && (shapeOfResult(root) == shapeOfResult(op) || isOfHalf(op));
  else
    fits = fits && mayFeedReduction(op, root) &&
           llvm::all_of(findReaders(op), [&](Operation *user) {
             return llvm::is_contained(group.ops, user);
           });
  // Another region would read a transposed value in another order.
  if (isMovedRead(op) && !op->hasOneUse())
    return -1;
  return fits && !wouldCycle(op, found->second) ? found->second : -1;
}

void RegionGrouping::addToGroup(Operation *op, int group) {
  if (!groups[group].ops.empty())
    groups[group].isLoopNest = true;
  groups[group].ops.push_back(op);
  groupOf[op] = group;
  if (group == int(precedence.size()))
    precedence.addNode();
  for (auto [reader, isDirect] : findReadingGroups(op))
    if (reader != group)
      precedence.addEdge(group, reader);
}

/// The groups that read what `op` computes, and whether no op that is in no
/// group stands between.
SmallVector<std::pair<int, bool>>
RegionGrouping::findReadingGroups(Operation *op) {
  SmallVector<std::pair<int, bool>> found;
  SmallVector<Operation *> work = {op};
  DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *from = work.pop_back_val();
    for (Operation *user : findReaders(from)) {
      auto known = groupOf.find(user);
      if (known != groupOf.end())
        found.emplace_back(known->second, from == op);
      else if (seen.insert(user).second)
        work.push_back(user);
    }
  }
  return found;
}

/// Whether a user of `op` outside the group leads back into the group.
bool RegionGrouping::wouldCycle(Operation *op, int group) {
  SmallVector<int> starts;
  for (auto [reader, isDirect] : findReadingGroups(op)) {
    if (reader != group)
      starts.push_back(reader);
    else if (!isDirect)
      return true;
  }
  return precedence.leads(starts, group);
}

} // namespace zc
