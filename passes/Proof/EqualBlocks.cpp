//===- EqualBlocks.cpp - layers of a program that are alike ---------------===//
#include "passes/Proof/EqualBlocks.h"

#include "dialects/Train/StateLookup.h"
#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <vector>

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {
/// Blocks of ops one behind the other, each of which computes of the one before
/// it what that computes of its predecessor, with states of its own.
struct EqualBlocks {
  int64_t begin = 0;  // the first op's number in the program
  int64_t period = 0; // ops of a block
  int64_t count = 0;

  int64_t end() const { return begin + period * count; }
};

/// Finds the layers of a program that are alike. They are those of deep
/// networks: what follows from one of them about its division follows for all.
class EqualBlockFinder {
public:
  /// `divisions`: texts by names of states; states of different texts are not
  /// alike.
  EqualBlockFinder(func::FuncOp program,
                   const llvm::StringMap<StringRef> &divisions);

  /// The blocks of which most ops can be left out where `keep` of them stay;
  /// none, where there are not more.
  std::optional<EqualBlocks> find(int64_t keep);

  /// The ops by their numbers.
  ArrayRef<Operation *> getOps() const { return ops; }

private:
  bool areAlike(Operation *a, Operation *b) const;
  bool areAlike(StateOp a, StateOp b);
  /// Whether op `i + period` follows from op `i`, in a run that began at op
  /// `begin`.
  bool follows(int64_t i, int64_t period, int64_t begin);
  bool operandFollows(Value value, Value next, int64_t i, int64_t period,
                      int64_t begin);
  /// Whether all that reads results of blocks but for the last one's is inside
  /// of them, and so for the states of those that would be left out.
  bool areClosed(const EqualBlocks &blocks, int64_t keep) const;
  int64_t numberOf(Value value) const;
  int64_t userOf(Operation *user) const;

  func::FuncOp program;
  const llvm::StringMap<StringRef> &divisions;
  std::vector<Operation *> ops;
  std::vector<uint64_t> hashes;
  llvm::DenseMap<Operation *, int64_t> numbers;
  llvm::DenseMap<Value, StateOp> states; // of arguments
  llvm::DenseMap<std::pair<Operation *, Operation *>, bool> alike;
};

} // namespace

/// Ops of one hash do the same with operands of the same types.
static uint64_t hashOf(Operation *op) {
  llvm::hash_code hash =
      llvm::hash_combine(op->getName().getAsOpaquePointer(),
                         op->getAttrDictionary().getAsOpaquePointer());
  for (Type type : op->getOperandTypes())
    hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
  return hash;
}

EqualBlockFinder::EqualBlockFinder(func::FuncOp program,
                                   const llvm::StringMap<StringRef> &divisions)
    : program(program), divisions(divisions) {
  Block &block = program.getBody().front();
  for (Operation &op : block.without_terminator()) {
    numbers[&op] = int64_t(ops.size());
    ops.push_back(&op);
    hashes.push_back(hashOf(&op));
  }
  for (BlockArgument argument : block.getArguments())
    if (StateOp state = findState(argument))
      states[argument] = state;
}

/// An argument stands before all ops.
int64_t EqualBlockFinder::numberOf(Value value) const {
  Operation *made = value.getDefiningOp();
  return made ? numbers.at(made) : -1;
}

/// An op's number, as long as it lies in the program's block itself.
int64_t EqualBlockFinder::userOf(Operation *user) const {
  auto found = numbers.find(user);
  return found == numbers.end() ? int64_t(ops.size()) : found->second;
}

bool EqualBlockFinder::areAlike(Operation *a, Operation *b) const {
  return a->getName() == b->getName() && a->getNumRegions() == 0 &&
         b->getNumRegions() == 0 &&
         a->getAttrDictionary() == b->getAttrDictionary() &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes();
}

/// A state's attributes but for its name and, where a proof draws numbers
/// itself, how it begins.
static SmallVector<NamedAttribute> describe(StateOp state) {
  const bool isConstant = state.getKind() == kConstant;
  const StringRef begins[] = {"value", "source", "draw"};
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute each : state->getAttrs())
    if (each.getName() != state.getSymNameAttrName() &&
        (isConstant || !llvm::is_contained(begins, each.getName().getValue())))
      attributes.push_back(each);
  return attributes;
}

bool EqualBlockFinder::areAlike(StateOp a, StateOp b) {
  auto [entry, isNew] = alike.try_emplace({a, b}, false);
  if (isNew)
    entry->second =
        describe(a) == describe(b) &&
        divisions.lookup(a.getSymName()) == divisions.lookup(b.getSymName());
  return entry->second;
}

bool EqualBlockFinder::operandFollows(Value value, Value next, int64_t i,
                                      int64_t period, int64_t begin) {
  const int64_t made = numberOf(value);
  if (next == value) // all blocks read it
    return made < begin;
  auto result = dyn_cast<OpResult>(value);
  auto other = dyn_cast<OpResult>(next);
  if (result && other && numberOf(next) == made + period)
    return result.getResultNumber() == other.getResultNumber();
  // The first block begins with what was before it, the others each with its
  // predecessor's.
  if (other && made < begin && !states.count(value))
    return i < begin + period && numberOf(next) >= begin;
  auto state = states.find(value), nextState = states.find(next);
  return state != states.end() && nextState != states.end() &&
         areAlike(state->second, nextState->second);
}

bool EqualBlockFinder::follows(int64_t i, int64_t period, int64_t begin) {
  Operation *op = ops[i], *next = ops[i + period];
  if (hashes[i] != hashes[i + period] || !areAlike(op, next))
    return false;
  for (auto [value, other] :
       llvm::zip_equal(op->getOperands(), next->getOperands()))
    if (!operandFollows(value, other, i, period, begin))
      return false;
  return true;
}

/// States that only ops from `begin` up to `end` read are theirs.
static bool readsOwn(Value state, int64_t begin, int64_t end,
                     llvm::function_ref<int64_t(Operation *)> numberOf) {
  return llvm::all_of(state.getUsers(), [&](Operation *user) {
    return numberOf(user) >= begin && numberOf(user) < end;
  });
}

bool EqualBlockFinder::areClosed(const EqualBlocks &blocks,
                                 int64_t keep) const {
  auto number = [&](Operation *user) { return userOf(user); };
  const int64_t last = blocks.end() - blocks.period;
  // Branches side by side, such as those that make queries, keys and values,
  // are no layers.
  for (int64_t i = blocks.begin; i < last; ++i)
    for (Operation *user : ops[i]->getUsers())
      if (number(user) >= blocks.end())
        return false;
  for (int64_t i = blocks.begin + keep * blocks.period; i < blocks.end(); ++i) {
    const int64_t begin = i - (i - blocks.begin) % blocks.period;
    for (auto [value, before] : llvm::zip_equal(
             ops[i]->getOperands(), ops[i - blocks.period]->getOperands()))
      if (value != before && states.count(value) &&
          !readsOwn(value, begin, begin + blocks.period, number))
        return false;
  }
  return true;
}

/// The same state in both places of a block is the same in all blocks: else two
/// layers that share a weight could stand for two that do not.
static bool pairStates(ArrayRef<Operation *> ops, const EqualBlocks &blocks,
                       const DenseMap<Value, StateOp> &states) {
  for (int64_t block = 1; block < blocks.count; ++block) {
    DenseMap<Value, Value> next, before;
    const int64_t begin = blocks.begin + block * blocks.period;
    for (int64_t i = begin; i < begin + blocks.period; ++i)
      for (auto [value, old] : llvm::zip_equal(
               ops[i]->getOperands(), ops[i - blocks.period]->getOperands()))
        if (states.count(value) &&
            (next.try_emplace(old, value).first->second != value ||
             before.try_emplace(value, old).first->second != old))
          return false;
  }
  return true;
}

std::optional<EqualBlocks> EqualBlockFinder::find(int64_t keep) {
  constexpr int64_t kLongestBlock = 2048;
  const int64_t size = int64_t(ops.size());
  std::optional<EqualBlocks> best;
  int64_t most = 0;
  auto take = [&](int64_t begin, int64_t matched, int64_t period) {
    const EqualBlocks found = {begin, period, matched / period + 1};
    const int64_t saved = (found.count - keep) * period;
    if (saved > most && areClosed(found, keep) &&
        pairStates(ops, found, states)) {
      best = found;
      most = saved;
    }
  };
  for (int64_t period = 1; period <= std::min(kLongestBlock, size / (keep + 1));
       ++period) {
    int64_t begin = 0, i = 0;
    for (; i + period < size; ++i)
      if (!follows(i, period, begin)) {
        take(begin, i - begin, period);
        begin = i + 1;
      }
    take(begin, i - begin, period);
  }
  return best;
}

/// Leaves out blocks behind the first `keep`, with their states: what read the
/// last one reads the last that stays. Returns how many of the states are
/// parameters.
static int64_t drop(func::FuncOp program, const EqualBlocks &blocks,
                    int64_t keep, ArrayRef<Operation *> ops) {
  const int64_t dropped = blocks.begin + keep * blocks.period;
  const int64_t last = blocks.end() - blocks.period;
  for (int64_t i = 0; i < blocks.period; ++i) {
    Operation *stays = ops[dropped - blocks.period + i];
    ops[last + i]->replaceAllUsesWith(stays->getResults());
  }
  llvm::SetVector<StateOp> states;
  for (int64_t i = blocks.end(); i-- > dropped;) {
    for (Value operand : ops[i]->getOperands())
      if (StateOp state = findState(operand))
        states.insert(state);
    ops[i]->erase();
  }
  llvm::BitVector unused(program.getNumArguments());
  int64_t parameters = 0;
  for (BlockArgument argument : program.getArguments())
    if (StateOp state = findState(argument);
        state && argument.use_empty() && states.contains(state)) {
      unused.set(argument.getArgNumber());
      parameters += state.getKind() == kParameter;
      state.erase();
    }
  (void)program.eraseArguments(unused);
  return parameters;
}

EqualBlockCount dropEqualBlocks(func::FuncOp program, int64_t keep,
                                ArrayRef<std::string> divisions) {
  llvm::StringMap<StringRef> ofStates;
  for (StringRef each : divisions) {
    const auto [name, division] = each.rsplit('=');
    ofStates[name] = division;
  }
  EqualBlockCount dropped;
  while (true) {
    EqualBlockFinder finder(program, ofStates);
    const std::optional<EqualBlocks> blocks = finder.find(keep);
    if (!blocks)
      return dropped;
    dropped.parameters += drop(program, *blocks, keep, finder.getOps());
    dropped.blocks += blocks->count - keep;
  }
}

} // namespace zc
