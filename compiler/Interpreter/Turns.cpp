//===- Turns.cpp - ranks that run programs together -----------------------===//
#include "compiler/Interpreter/Turns.h"

#include "compiler/Interpreter/Ranks.h"
#include "passes/Analysis/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace zc::interpreter {

int64_t roleOf(int64_t rank, size_t programs, dist::MeshAttr mesh) {
  if (programs == 1)
    return 0;
  return mesh.getCoordinates(rank)[mesh.findAxis(kRoleAxis)];
}

Turns::Turns(ArrayRef<func::FuncOp> programs, dist::MeshAttr mesh,
             MutableArrayRef<Environment> environments, RunOp runOp)
    : programs(programs), mesh(mesh), runOp(runOp) {
  for (auto [rank, environment] : llvm::enumerate(environments)) {
    int64_t role = roleOf(rank, programs.size(), mesh);
    ranks.push_back({programs[role], environment, role, {}, 0, {}, {}});
  }
  for (func::FuncOp program : programs) {
    auto &mine = ops.emplace_back();
    for (auto [number, op] : llvm::enumerate(program.getBody().front())) {
      numbers[&op] = number;
      mine.push_back(&op);
    }
  }
  for (Rank &rank : ranks)
    prepare(rank);
}

void Turns::prepare(Rank &rank) {
  rank.left = ops[rank.role].size();
  for (auto [number, op] : llvm::enumerate(ops[rank.role])) {
    // An op's result is made in any case; a message may not have come.
    const unsigned missing =
        llvm::count_if(op->getOperands(), [&](Value value) {
          return value.getDefiningOp() || !rank.environment.contains(value);
        });
    rank.missing.push_back(missing);
    if (missing == 0)
      rank.ready.insert(number);
  }
}

bool Turns::isRead(const Rank &rank, Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto number = numbers.find(user);
    return number == numbers.end() || user->hasTrait<OpTrait::IsTerminator>() ||
           rank.missing[number->second] != kDone;
  });
}

void Turns::setDone(Rank &rank, size_t number) {
  rank.missing[number] = kDone;
  --rank.left;
  for (Value operand : ops[rank.role][number]->getOperands())
    if (!isRead(rank, operand))
      rank.environment.erase(operand);
}

void Turns::know(int64_t number, Value value) {
  Rank &rank = ranks[number];
  for (Operation *user : value.getUsers()) { // once for each operand
    const auto found = numbers.find(user);
    if (found != numbers.end() && rank.missing[found->second] != kDone &&
        --rank.missing[found->second] == 0)
      rank.ready.insert(found->second);
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// The argument of `program` that receives `id` from `peer`.
static std::optional<unsigned> findReceived(func::FuncOp program, int64_t id,
                                            int64_t peer) {
  for (unsigned index = 0; index < program.getNumArguments(); ++index)
    if (auto end = getReceived(program, index))
      if (end->id == id && end->peer == peer)
        return index;
  return std::nullopt;
}

static bool isSent(func::FuncOp program, int64_t id, int64_t peer) {
  for (unsigned index = 0; index < program.getNumResults(); ++index)
    if (auto end = getSent(program, index))
      if (end->id == id && end->peer == peer)
        return true;
  return false;
}

LogicalResult Turns::connectResult(int64_t role, unsigned index) {
  func::FuncOp program = programs[role];
  std::optional<MessageEnd> end = getSent(program, index);
  if (!end)
    return success();
  auto refuse = [&](const Twine &what) {
    return program.emitOpError("of role ")
           << role << " sends message " << end->id << " to role " << end->peer
           << ", " << what;
  };
  int64_t count = programs.size();
  if (end->peer < 0 || end->peer >= count)
    return refuse("of which there is none");
  func::FuncOp peer = programs[end->peer];
  std::optional<unsigned> found = findReceived(peer, end->id, role);
  if (!found)
    return refuse("which does not receive it");
  // Ranks' parts are sent as they are.
  if (program.getResultTypes()[index] != peer.getArgumentTypes()[*found] ||
      program.getResultAttr(index, dist::kShardingAttr) !=
          peer.getArgAttr(*found, dist::kShardingAttr))
    return refuse("which receives another type or another sharding");
  Value sent = program.getBody().front().getTerminator()->getOperand(index);
  targets[sent].push_back({end->peer, peer.getArgument(*found)});
  return success();
}

LogicalResult Turns::checkReceived(int64_t role, unsigned index) {
  func::FuncOp program = programs[role];
  std::optional<MessageEnd> end = getReceived(program, index);
  int64_t count = programs.size();
  if (!end || (end->peer >= 0 && end->peer < count &&
               isSent(programs[end->peer], end->id, role)))
    return success();
  return program.emitOpError("of role ")
         << role << " receives message " << end->id << " from role "
         << end->peer << ", which does not send it";
}

LogicalResult Turns::connect() {
  for (int64_t role = 0; role < int64_t(programs.size()); ++role) {
    for (unsigned i = 0; i < func::FuncOp(programs[role]).getNumResults(); ++i)
      if (failed(connectResult(role, i)))
        return failure();
    for (unsigned i = 0; i < func::FuncOp(programs[role]).getNumArguments();
         ++i)
      if (failed(checkReceived(role, i)))
        return failure();
  }
  return success();
}

/// Gives a value that is known now to those it is sent to, who may send it on.
void Turns::deliver(int64_t rank, Value value) {
  auto found = targets.find(value);
  if (found == targets.end())
    return;
  SmallVector<int64_t> line = groupOf(
      rank, Builder(mesh.getContext()).getStrArrayAttr({kRoleAxis}), mesh);
  for (auto [role, argument] : found->second) {
    Elements elements = ranks[rank].environment.at(value);
    ranks[line[role]].environment[argument] = std::move(elements);
    know(line[role], argument);
    deliver(line[role], argument);
  }
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// Runs what a rank can without others. Whether it came further.
FailureOr<bool> Turns::runAlone(int64_t number) {
  Rank &rank = ranks[number];
  bool moved = false;
  while (!rank.ready.empty()) {
    const size_t place = *rank.ready.begin();
    Operation *op = ops[rank.role][place];
    rank.ready.erase(rank.ready.begin());
    if (isa<dist::CollectiveOpInterface>(op)) {
      rank.collectives[place] = op;
      continue;
    }
    moved = true;
    const bool isEnd = op->hasTrait<OpTrait::IsTerminator>();
    if (!isEnd && failed(runOp(*op, rank.environment)))
      return failure();
    setDone(rank, place);
    for (Value result : op->getResults()) {
      know(number, result);
      deliver(number, result);
    }
  }
  return moved;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The key of the groups in which ranks meet for a collective.
static Attribute lineOf(dist::CollectiveOpInterface op) {
  Builder builder(op.getContext());
  Attribute holders = op->getAttr("holders");
  return builder.getArrayAttr(
      {op.getAxes(), holders ? holders : builder.getUnitAttr()});
}

void Turns::findCollectives() {
  for (func::FuncOp program : programs) {
    Collectives &mine = collectives.emplace_back();
    for (Operation &op : program.getBody().front())
      if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op)) {
        auto &line = mine[lineOf(collective)];
        places[&op] = line.size();
        line.push_back(&op);
      }
  }
}

SmallVector<int64_t> Turns::findGroup(int64_t rank,
                                      dist::CollectiveOpInterface op) const {
  SmallVector<int64_t> all = groupOf(rank, op.getAxes(), mesh), group;
  auto holders = op->getAttrOfType<DenseI64ArrayAttr>("holders");
  if (!holders)
    return all;
  for (int64_t holder : holders.asArrayRef())
    group.push_back(all[holder]);
  return group;
}

/// The same collective in another rank's program, or null.
Operation *Turns::findPartner(dist::CollectiveOpInterface op,
                              const Rank &rank) const {
  auto line = collectives[rank.role].find(lineOf(op));
  size_t place = places.lookup(op);
  if (line == collectives[rank.role].end() || place >= line->second.size())
    return nullptr;
  Operation *found = line->second[place];
  bool isSame =
      found->getName() == op->getName() &&
      found->getPropertiesAsAttribute() == op->getPropertiesAsAttribute() &&
      found->getOperandTypes() == op->getOperandTypes();
  return isSame ? found : nullptr;
}

bool Turns::isReady(const Rank &rank, Operation *op) const {
  return op && rank.missing[numbers.at(op)] == 0;
}

LogicalResult Turns::exchangeAmong(ArrayRef<int64_t> group,
                                   dist::CollectiveOpInterface op) {
  SmallVector<const std::vector<Slot> *> given;
  SmallVector<Elements> results;
  SmallVector<std::vector<Slot> *> taken;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t member : group) {
    Value operand = findPartner(op, ranks[member])->getOperand(0);
    given.push_back(ranks[member].environment.at(operand).get());
    results.push_back(
        std::make_shared<std::vector<Slot>>(type.getNumElements()));
    taken.push_back(results.back().get());
  }
  if (failed(exchange(op, given, taken)))
    return failure();
  for (auto [member, elements] : llvm::zip_equal(group, results)) {
    Operation *own = findPartner(op, ranks[member]);
    ranks[member].environment[own->getResult(0)] = std::move(elements);
    setDone(ranks[member], numbers.at(own));
    ranks[member].ready.erase(numbers.at(own));
    ranks[member].collectives.erase(numbers.at(own));
    know(member, own->getResult(0));
    deliver(member, own->getResult(0));
  }
  return success();
}

/// Collectives of which all ranks are ready; the first of a group begins them.
/// Whether there were any.
FailureOr<bool> Turns::meet(int64_t number) {
  const std::map<size_t, Operation *> waiting = ranks[number].collectives;
  bool moved = false;
  for (const auto &[place, each] : waiting) {
    auto op = cast<dist::CollectiveOpInterface>(each);
    SmallVector<int64_t> group = findGroup(number, op);
    if (group.front() != number || !llvm::all_of(group, [&](int64_t member) {
          return isReady(ranks[member], findPartner(op, ranks[member]));
        }))
      continue;
    if (failed(exchangeAmong(group, op)))
      return failure();
    moved = true;
  }
  return moved;
}

LogicalResult Turns::run() {
  if (failed(connect()))
    return failure();
  findCollectives();
  for (auto [number, rank] : llvm::enumerate(ranks))
    for (BlockArgument argument : rank.program.getArguments())
      if (rank.environment.contains(argument))
        deliver(number, argument);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t number = 0; number < ranks.size(); ++number) {
      FailureOr<bool> alone = runAlone(number);
      FailureOr<bool> met = failed(alone) ? alone : meet(number);
      if (failed(met))
        return failure();
      moved |= *alone || *met;
    }
  }
  return llvm::all_of(ranks, [](const Rank &rank) { return rank.left == 0; })
             ? success()
             : reportWaiting();
}

//===----------------------------------------------------------------------===//
// Nobody can go on
//===----------------------------------------------------------------------===//

/// Describes the first op that waits: ops before it have run.
std::string Turns::describeWait(int64_t number) const {
  const Rank &rank = ranks[number];
  const auto waits = llvm::find_if(
      rank.missing, [](unsigned missing) { return missing != kDone; });
  Operation *first = ops[rank.role][waits - rank.missing.begin()];
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "rank " << number << ", of role " << rank.role << ", waits at '"
     << first->getName() << "' for ";
  llvm::ListSeparator comma;
  for (Value operand : first->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand);
        argument && !rank.environment.contains(operand)) {
      auto end = getReceived(rank.program, argument.getArgNumber());
      os << comma << "message " << end->id << " from role " << end->peer;
    }
  auto op = dyn_cast<dist::CollectiveOpInterface>(first);
  if (!op || *waits > 0)
    return text;
  for (int64_t member : findGroup(number, op)) {
    Operation *partner = findPartner(op, ranks[member]);
    if (!partner)
      os << comma << "rank " << member << ", which has no such op";
    else if (!isReady(ranks[member], partner))
      os << comma << "rank " << member;
  }
  return text;
}

LogicalResult Turns::reportWaiting() const {
  constexpr int64_t kMostLines = 8;
  func::FuncOp program = programs.front();
  InFlightDiagnostic error = program.emitOpError("stops where all wait:");
  int64_t lines = 0;
  for (size_t number = 0; number < ranks.size(); ++number)
    if (ranks[number].left > 0 && ++lines <= kMostLines)
      error << "\n  " << describeWait(number);
  return error;
}

} // namespace zc::interpreter
