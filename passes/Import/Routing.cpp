//===- Routing.cpp - masks that give tokens their places ------------------===//
#include "passes/Import/Routing.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Import/Lowering/TensorBuilder.h"
#include "passes/Import/MaskParts.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

static constexpr int kRoutingDepth = 64;

namespace {

/// Whether two lists have the same members, in whatever order.
bool areSame(ArrayRef<Value> a, ArrayRef<Value> b) {
  auto isAmong = [](ArrayRef<Value> all) {
    return [all](Value each) { return llvm::is_contained(all, each); };
  };
  return llvm::all_of(a, isAmong(b)) && llvm::all_of(b, isAmong(a));
}

/// A tensor whose elements count tokens, described by its element for a token's
/// own expert. It is the sum of how many tokens chose this expert before in the
/// same choice, how many chose it at all in other choices, and a number.
struct Count {
  bool before = false;
  int64_t number = 0;
  SmallVector<Value> others;
  SmallVector<Value> conditions;                   // of those that count
  std::vector<SmallVector<Value>> otherConditions; // of each of the others
  // Other choices that leave out tokens without room: which, and their places.
  SmallVector<Value> limited;
  std::vector<Count> rooms;
  bool isMasked = false;        // other experts' elements are 0
  SmallVector<MaskPart> limits; // another number where these do not hold

  bool isAs(const Count &other) const {
    return before == other.before && number == other.number &&
           areSame(others, other.others) &&
           areSame(conditions, other.conditions);
  }
};

/// Whether a factor of a mask says of tokens that they make a choice or not.
bool isCondition(const MaskPart &factor) {
  return !factor.has(MaskDim::Expert) && !factor.has(MaskDim::Place) &&
         typeOf(factor.value).getElementType().isInteger(1);
}

/// One term of a sum of masks.
class TermReader {
public:
  TermReader(int64_t tokens, int64_t experts, int64_t capacity)
      : tokens(tokens), experts(experts), capacity(capacity) {}

  /// Fills in the choice and what its places count.
  bool read(const MaskPart &term);

  RoutedChoice choice;
  Count count;

private:
  bool sort(ArrayRef<MaskPart> factors);
  void takeApart(const MaskPart &sum);
  bool takeConditions();
  std::optional<Value> matchChoice(const MaskPart &part) const;
  std::optional<MaskPart> matchLimit(const MaskPart &part, double &most) const;
  bool holds(const MaskPart &limit) const;

  std::optional<Count> read(const MaskPart &part, int depth) const;
  std::optional<Count> readSum(const MaskPart &part, int depth) const;
  std::optional<Count> readProduct(const MaskPart &part, int depth) const;
  std::optional<Count> readAddition(const MaskPart &part, int depth) const;
  std::optional<Count> readTotal(const MaskPart &part) const;
  std::optional<Count> readRunningSum(const MaskPart &part) const;

  int64_t tokens, experts, capacity;
  std::optional<MaskPart> place;
  SmallVector<MaskPart> limits;
};

/// One-hot numbers of experts: of which choice.
std::optional<Value> TermReader::matchChoice(const MaskPart &part) const {
  std::optional<MaskPart> chosen = matchOneHot(part, MaskDim::Expert);
  if (!chosen)
    return std::nullopt;
  Value value = stripViews(chosen->value);
  if (!isPlaceAmong(value, experts))
    return std::nullopt;
  return value;
}

/// count < most, of integers.
std::optional<MaskPart> TermReader::matchLimit(const MaskPart &part,
                                               double &most) const {
  auto less = part.value.getDefiningOp<CompareOp>();
  if (!less)
    return std::nullopt;
  Predicate predicate = less.getPredicate();
  Value count = less.getLhs(), limit = less.getRhs();
  if (predicate == Predicate::Gt || predicate == Predicate::Ge) {
    std::swap(count, limit);
    predicate = predicate == Predicate::Gt ? Predicate::Lt : Predicate::Le;
  }
  std::optional<double> number = matchNumber(limit);
  if (!number || (predicate != Predicate::Lt && predicate != Predicate::Le))
    return std::nullopt;
  most = *number + (predicate == Predicate::Le ? 1 : 0);
  return MaskPart{count, part.dims};
}

/// Whether a limit is that of the room, of the same places.
bool TermReader::holds(const MaskPart &limit) const {
  double most = 0;
  std::optional<MaskPart> counted = matchLimit(limit, most);
  std::optional<Count> found =
      counted ? read(*counted, kRoutingDepth) : std::nullopt;
  if (!found || most - double(found->number) != double(capacity))
    return false;
  found->number = 0;
  return found->isAs(count);
}

/// The factors by what they are; false where one is something else.
bool TermReader::sort(ArrayRef<MaskPart> factors) {
  SmallVector<MaskPart> sums;
  for (const MaskPart &factor : factors) {
    double most;
    if (factor.has(MaskDim::Place)) {
      std::optional<MaskPart> found = matchOneHot(factor, MaskDim::Place);
      if (!found || place)
        return false;
      place = found;
    } else if (!factor.has(MaskDim::Expert)) {
      choice.weights.push_back(factor);
      if (isa_and_nonnull<ReduceOp>(factor.value.getDefiningOp()))
        sums.push_back(factor);
    } else if (std::optional<Value> chosen = matchChoice(factor)) {
      if (choice.chosen && choice.chosen != *chosen)
        return false;
      choice.chosen = *chosen;
    } else if (matchLimit(factor, most)) {
      limits.push_back(factor);
    } else {
      choice.gates.push_back(factor);
    }
  }
  if (!place || !choice.chosen)
    return false;
  for (const MaskPart &sum : sums)
    takeApart(sum);
  return true;
}

/// A mask of the choice, summed over experts, says what its factors say.
void TermReader::takeApart(const MaskPart &sum) {
  auto op = sum.value.getDefiningOp<ReduceOp>();
  if (op.getKind() != ReduceKind::Sum || op.getDims().size() != 1)
    return;
  MaskPart input{op.getInput(), sum.dims};
  input.dims.insert(input.dims.begin() + op.getDims().front(), MaskDim::Expert);
  SmallVector<MaskPart> factors, conditions, within;
  collectFactors(input, factors);
  bool isChoice = false;
  for (const MaskPart &factor : factors) {
    double most;
    if (isCondition(factor))
      conditions.push_back(factor);
    else if (matchChoice(factor) == choice.chosen)
      isChoice = true;
    else if (matchLimit(factor, most))
      within.push_back(factor);
    else
      return;
  }
  if (!isChoice)
    return;
  llvm::erase_if(choice.weights,
                 [&](const MaskPart &each) { return each.value == sum.value; });
  llvm::append_range(choice.weights, conditions);
  llvm::append_range(limits, within);
}

bool TermReader::read(const MaskPart &term) {
  SmallVector<MaskPart> factors;
  collectFactors(term, factors);
  if (!sort(factors))
    return false;
  std::optional<Count> found = read(*place, kRoutingDepth);
  if (!found || !found->before || found->number != 0)
    return false;
  count = *found;
  // Where a limit or condition in the count does not hold, this is another
  // number: then the mask must be 0, for it is among the factors, too.
  auto isFactor = [&](const MaskPart &limit) {
    auto isSame = [&](const MaskPart &each) {
      return each.value == limit.value;
    };
    return llvm::any_of(limits, isSame) || llvm::any_of(choice.weights, isSame);
  };
  if (!llvm::all_of(count.limits, isFactor) || !takeConditions())
    return false;
  return llvm::all_of(limits,
                      [&](const MaskPart &limit) { return holds(limit); });
}

/// Counted tokens are those that choose: what says so is no weight.
bool TermReader::takeConditions() {
  for (Value condition : count.conditions) {
    auto isSame = [&](const MaskPart &part) { return part.value == condition; };
    const auto *found = llvm::find_if(choice.weights, isSame);
    if (found == choice.weights.end())
      return false;
    choice.conditions.push_back(*found);
    llvm::erase_if(choice.weights, isSame);
  }
  return true;
}

std::optional<Count> TermReader::read(const MaskPart &part, int depth) const {
  Operation *op = part.value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (auto convert = dyn_cast<ConvertOp>(op); convert && keepsNumbers(convert))
    return read({op->getOperand(0), part.dims}, depth - 1);
  if (std::optional<Count> sum = readRunningSum(part))
    return sum;
  if (isa<AddOp, SubOp>(op))
    return readAddition(part, depth);
  if (isa<MulOp, CompareOp>(op))
    return readProduct(part, depth);
  if (isa<ReduceOp>(op))
    return readSum(part, depth);
  std::optional<MaskPart> input = seeThrough(part);
  return input ? read(*input, depth - 1) : std::nullopt;
}

/// A sum over experts of what is 0 but for the token's own, or over tokens.
std::optional<Count> TermReader::readSum(const MaskPart &part,
                                         int depth) const {
  auto sum = part.value.getDefiningOp<ReduceOp>();
  if (sum.getKind() != ReduceKind::Sum || sum.getDims().size() != 1)
    return std::nullopt;
  MaskPart input{sum.getInput(), part.dims};
  int64_t dim = sum.getDims().front(),
          size = typeOf(sum.getInput()).getDimSize(dim);
  // Tokens stand before experts, of which some dim may have been dropped.
  bool ofTokens = part.has(MaskDim::Expert) && !part.has(MaskDim::Token);
  if (ofTokens ? size != tokens : part.has(MaskDim::Expert))
    return std::nullopt;
  input.dims.insert(input.dims.begin() + dim,
                    ofTokens ? MaskDim::Token : MaskDim::Expert);
  if (ofTokens)
    return readTotal(input);
  std::optional<Count> found = read(input, depth - 1);
  return found && found->isMasked ? found : std::nullopt;
}

/// How many made a choice: of which those without room may be left out, for
/// then all that follow have none either.
std::optional<Count> TermReader::readTotal(const MaskPart &part) const {
  SmallVector<MaskPart> factors, within;
  SmallVector<Value> conditions;
  collectFactors(part, factors);
  TermReader other(tokens, experts, capacity);
  for (const MaskPart &factor : factors) {
    double most;
    std::optional<Value> chosen = matchChoice(factor);
    if (chosen && !other.choice.chosen)
      other.choice.chosen = *chosen;
    else if (isCondition(factor))
      conditions.push_back(factor.value);
    else if (!chosen && matchLimit(factor, most))
      within.push_back(factor);
    else
      return std::nullopt;
  }
  if (!other.choice.chosen || other.choice.chosen == choice.chosen)
    return std::nullopt;
  Count found;
  found.others.push_back(other.choice.chosen);
  found.otherConditions.push_back(conditions);
  for (const MaskPart &limit : within) {
    double most = 0;
    std::optional<Count> counted =
        other.read(*other.matchLimit(limit, most), kRoutingDepth / 2);
    if (!counted || most - double(counted->number) != double(capacity))
      return std::nullopt;
    counted->number = 0;
    found.limited.push_back(other.choice.chosen);
    found.rooms.push_back(*counted);
  }
  return found;
}

std::optional<Count> TermReader::readProduct(const MaskPart &part,
                                             int depth) const {
  SmallVector<MaskPart> factors;
  collectFactors(part, factors);
  std::optional<Count> found;
  bool isMasked = false;
  SmallVector<MaskPart> within;
  for (const MaskPart &factor : factors) {
    double most;
    if (std::optional<Value> chosen = matchChoice(factor)) {
      if (*chosen != choice.chosen)
        return std::nullopt;
      isMasked = true;
    } else if (isCondition(factor) || matchLimit(factor, most)) {
      within.push_back(factor);
    } else {
      if (found)
        return std::nullopt;
      found = read(factor, depth - 1);
      if (!found)
        return std::nullopt;
    }
  }
  if (!found && !isMasked)
    return std::nullopt;
  if (!found) { // the token itself
    found.emplace();
    found->number = 1;
  }
  found->isMasked |= isMasked;
  llvm::append_range(found->limits, within);
  return found;
}

std::optional<Count> TermReader::readAddition(const MaskPart &part,
                                              int depth) const {
  Operation *op = part.value.getDefiningOp();
  double sign = isa<SubOp>(op) ? -1 : 1;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (sign > 0 && matchNumber(lhs))
    std::swap(lhs, rhs);
  std::optional<Count> found = read({lhs, part.dims}, depth - 1);
  if (!found)
    return std::nullopt;
  if (std::optional<double> number = matchNumber(rhs)) {
    if (*number != std::floor(*number))
      return std::nullopt;
    found->number += int64_t(sign * *number);
    found->isMasked &= *number == 0;
    return found;
  }
  std::optional<Count> other = read({rhs, part.dims}, depth - 1);
  if (!other || (found->before && other->before) ||
      (sign < 0 && (other->before || !other->others.empty())))
    return std::nullopt;
  found->before |= other->before;
  found->number += int64_t(sign) * other->number;
  found->isMasked &= other->isMasked;
  llvm::append_range(found->limits, other->limits);
  llvm::append_range(found->conditions, other->conditions);
  llvm::append_range(found->otherConditions, other->otherConditions);
  llvm::append_range(found->limited, other->limited);
  llvm::append_range(found->rooms, other->rooms);
  for (Value each : other->others) {
    if (llvm::is_contained(found->others, each))
      return std::nullopt;
    found->others.push_back(each);
  }
  return found;
}

/// A running sum over tokens of the choice's one-hot numbers, its own included
/// or not.
std::optional<Count> TermReader::readRunningSum(const MaskPart &part) const {
  const auto *token = llvm::find(part.dims, MaskDim::Token);
  if (token == part.dims.end() || !part.has(MaskDim::Expert) || tokens < 2)
    return std::nullopt;
  int64_t dim = token - part.dims.begin();
  Value input = matchRunningSum(part.value, dim, tokens);
  if (!input)
    return std::nullopt;
  Count found;
  found.before = true;
  found.number = 1;
  if (Value moved = matchShift(input, dim, 1)) {
    input = moved;
    found.number = 0;
  }
  SmallVector<MaskPart> factors;
  collectFactors({input, part.dims}, factors);
  bool isChoice = false;
  for (const MaskPart &factor : factors) {
    if (isCondition(factor))
      found.conditions.push_back(factor.value);
    else if (isChoice || matchChoice(factor) != choice.chosen)
      return std::nullopt;
    else
      isChoice = true;
  }
  return isChoice ? std::optional(found) : std::nullopt;
}

void flatten(Value value, SmallVectorImpl<Value> &terms) {
  if (auto view = value.getDefiningOp<ReshapeOp>();
      view && typeOf(view.getInput()) == typeOf(value))
    value = view.getInput();
  auto add = value.getDefiningOp<AddOp>();
  if (!add) {
    if (matchNumber(value) != 0.0)
      terms.push_back(value);
    return;
  }
  flatten(add.getLhs(), terms);
  flatten(add.getRhs(), terms);
}

SmallVector<Value> valuesOf(ArrayRef<MaskPart> parts) {
  return llvm::map_to_vector(parts,
                             [](const MaskPart &part) { return part.value; });
}

bool areNeverNegative(const Routing &routing) {
  return llvm::all_of(routing.choices, [](const RoutedChoice &choice) {
    auto isSound = [](const MaskPart &part) {
      return isNeverNegative(part.value);
    };
    return llvm::all_of(choice.weights, isSound) &&
           llvm::all_of(choice.gates, isSound);
  });
}

} // namespace

std::optional<Routing> zc::findRouting(Value mask) {
  RankedTensorType type = typeOf(mask);
  int64_t rank = type.getRank();
  if (rank != 3 && rank != 4)
    return std::nullopt;
  MaskPart whole{mask, {MaskDim::Token, MaskDim::Expert, MaskDim::Place}};
  if (rank == 4)
    whole.dims.insert(whole.dims.begin(), MaskDim::Group);
  ArrayRef<int64_t> inner = type.getShape().take_back(3);
  Routing routing{
      rank == 4 ? type.getDimSize(0) : 1, inner[0], inner[1], inner[2], {}};
  // A dim of size 1 could be any.
  if (llvm::any_of(inner, [](int64_t size) { return size < 2; }))
    return std::nullopt;
  SmallVector<Value> terms;
  flatten(mask, terms);
  std::vector<TermReader> found;
  for (Value term : terms) {
    TermReader &reader =
        found.emplace_back(routing.tokens, routing.experts, routing.capacity);
    if (!reader.read({term, whole.dims}))
      return std::nullopt;
  }
  llvm::stable_sort(found, [](const TermReader &a, const TermReader &b) {
    return a.count.others.size() < b.count.others.size();
  });
  // Each comes behind those that it counts, and there are no others.
  for (auto [index, reader] : llvm::enumerate(found)) {
    if (reader.count.others.size() != index)
      return std::nullopt;
    for (const RoutedChoice &before : routing.choices)
      if (!llvm::is_contained(reader.count.others, before.chosen))
        return std::nullopt;
    routing.choices.push_back(reader.choice);
  }
  // Tokens without room were left out by the places that they have.
  auto isPlace = [&](Value chosen, const Count &room) {
    return llvm::any_of(found, [&](const TermReader &reader) {
      return reader.choice.chosen == chosen && reader.count.isAs(room);
    });
  };
  auto isCounted = [&](Value chosen, ArrayRef<Value> conditions) {
    return llvm::any_of(found, [&](const TermReader &reader) {
      return reader.choice.chosen == chosen &&
             areSame(reader.count.conditions, conditions);
    });
  };
  for (const TermReader &reader : found)
    for (auto [chosen, conditions] :
         llvm::zip(reader.count.others, reader.count.otherConditions))
      if (!isCounted(chosen, conditions))
        return std::nullopt;
  for (const TermReader &reader : found)
    for (auto [chosen, room] :
         llvm::zip(reader.count.limited, reader.count.rooms))
      if (!isPlace(chosen, room))
        return std::nullopt;
  return routing.choices.empty() ? std::nullopt : std::optional(routing);
}

bool zc::isMaskOf(Value mask, Value weights, const Routing &routing) {
  bool isBoolean = false;
  while (auto convert = mask.getDefiningOp<ConvertOp>()) {
    isBoolean |= typeOf(mask).getElementType().isInteger(1);
    mask = convert.getInput();
  }
  if (isBoolean && mask == weights)
    return true;
  if (auto compare = mask.getDefiningOp<CompareOp>()) {
    bool isPositive = compare.getPredicate() == Predicate::Gt;
    if ((isPositive || compare.getPredicate() == Predicate::Ne) &&
        stripViews(compare.getLhs()) == stripViews(weights) &&
        typeOf(compare.getLhs()).getShape() == typeOf(weights).getShape() &&
        matchNumber(compare.getRhs()) == 0.0)
      return !isPositive || areNeverNegative(routing);
  }
  std::optional<Routing> found = findRouting(mask);
  if (!found || found->choices.size() != routing.choices.size())
    return false;
  for (auto [a, b] : llvm::zip(found->choices, routing.choices))
    if (a.chosen != b.chosen || !a.weights.empty() || !a.gates.empty() ||
        !areSame(valuesOf(a.conditions), valuesOf(b.conditions)))
      return false;
  return true;
}
