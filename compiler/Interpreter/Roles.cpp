//===- Roles.cpp - a program by the names of what it binds ----------------===//
#include "compiler/Interpreter/Roles.h"

#include "compiler/Interpreter/Bindings.h"
#include "compiler/Interpreter/Ranks.h"
#include "compiler/Interpreter/Turns.h"
#include "dialects/Dist/Server.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Versions.h"
#include "passes/Analysis/Messages.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mlir;

namespace zc::interpreter {

static SmallVector<ModuleOp> findRoles(ModuleOp module) {
  SmallVector<ModuleOp> roles;
  for (auto nested : module.getOps<ModuleOp>())
    if (nested->hasAttr(train::kRoleAttr))
      roles.push_back(nested);
  return roles;
}

/// Roles are the coordinates along the axis, of one mesh, in their order.
static LogicalResult checkRoles(ArrayRef<ModuleOp> roles) {
  for (auto [number, role] : llvm::enumerate(roles)) {
    auto own = role->getAttrOfType<IntegerAttr>(train::kRoleAttr);
    if (!own || own.getInt() != int64_t(number))
      return ModuleOp(role).emitOpError("expected role ") << number << " here";
    dist::MeshAttr mesh = dist::getMesh(role);
    int axis = mesh ? mesh.findAxis(kRoleAxis) : -1;
    if (axis < 0 || mesh.getSizes()[axis] != int64_t(roles.size()))
      return ModuleOp(role).emitOpError("expected a mesh with ")
             << kRoleAxis << "=" << roles.size() << ", one rank for each role";
    if (mesh != dist::getMesh(roles.front()))
      return ModuleOp(role).emitOpError("has another mesh than role 0");
  }
  return success();
}

FailureOr<SmallVector<func::FuncOp>> findPrograms(ModuleOp module,
                                                  StringRef name) {
  SmallVector<ModuleOp> roles = findRoles(module);
  SmallVector<func::FuncOp> programs;
  if (roles.empty()) {
    if (auto program = module.lookupSymbol<func::FuncOp>(name))
      programs.push_back(program);
    return programs;
  }
  if (failed(checkRoles(roles)))
    return failure();
  for (ModuleOp role : roles)
    if (auto program = role.lookupSymbol<func::FuncOp>(name))
      programs.push_back(program);
  if (!programs.empty() && programs.size() < roles.size())
    return module.emitOpError("has roles without a program '") << name << "'";
  return programs;
}

//===----------------------------------------------------------------------===//
// Values that roles share
//===----------------------------------------------------------------------===//

/// Whether roles hold no sums of theirs together: none has a flush to make
/// them.
static bool isWithoutFlush(func::FuncOp program) {
  return program->getParentOfType<ModuleOp>()->hasAttr(train::kNoFlushAttr);
}

/// Roles add up their own micro-batches' gradients of what they hold together.
static bool isTermOfRole(func::FuncOp program, train::StateOp state) {
  return state && state.getKind() == train::kAccumulator &&
         !isWithoutFlush(program);
}

/// Without flush, a metric is the role's own: the loss where there are labels,
/// and the norm of its own gradients.
static bool isMetricOfRole(func::FuncOp program, unsigned result) {
  return isWithoutFlush(program) &&
         program.getResultAttr(result, train::kMetricAttr);
}

/// The same mesh as one role has it.
static dist::MeshAttr meshOfRole(dist::MeshAttr mesh, size_t roles) {
  if (roles == 1)
    return mesh;
  SmallVector<int64_t> sizes(mesh.getSizes());
  sizes[mesh.findAxis(kRoleAxis)] = 1;
  return dist::MeshAttr::get(mesh.getContext(), mesh.getNames(), sizes);
}

namespace {

/// The binding of an argument or a result, looked up once: to look up one state
/// of many takes longer than a small op.
struct Bound {
  std::string name;
  bool isMessage = false;
  bool isTerm = false;    // of a sum over roles
  bool isServers = false; // a result that the parameter server alone has
  Division division = {};
  RankedTensorType wholeType = {};
  StringAttr coordinate = {}; // the axis, of an argument that is one
};

/// The states that a program's arguments and results name.
class States {
public:
  explicit States(func::FuncOp program) {
    for (auto state :
         program->getParentOfType<ModuleOp>().getOps<train::StateOp>())
      states[state.getSymNameAttr()] = state;
  }
  train::StateOp find(Attribute symbol) const {
    auto name = dyn_cast_or_null<FlatSymbolRefAttr>(symbol);
    return name ? states.lookup(name.getAttr()) : train::StateOp();
  }

private:
  DenseMap<StringAttr, train::StateOp> states;
};

class ProgramRun {
public:
  ProgramRun(Interpreter &interpreter, ArrayRef<func::FuncOp> programs)
      : interpreter(interpreter), programs(programs),
        mesh(dist::getMesh(func::FuncOp(programs.front()))) {
    for (func::FuncOp program : programs) {
      const States states(program);
      auto &mine = arguments.emplace_back();
      for (unsigned i = 0; i < program.getNumArguments(); ++i)
        mine.push_back(getArgument(program, i, states));
      auto &made = results.emplace_back();
      for (unsigned i = 0; i < program.getNumResults(); ++i)
        made.push_back(getResult(program, i, states));
    }
  }

  FailureOr<NamedTensors> run(const llvm::StringMap<Tensor> &values) {
    if (!mesh)
      return runAlone(values);
    std::vector<std::vector<Tensor>> inputs;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      inputs.push_back(takeParts(rank, values));
    auto found = interpreter.runOnRanks(programs, mesh, inputs);
    if (failed(found))
      return failure();
    for (size_t role = 0; role < programs.size(); ++role)
      if (failed(joinRole(role, *found)))
        return failure();
    return joined;
  }

private:
  static Bound getArgument(func::FuncOp program, unsigned index,
                           const States &states) {
    Bound bound;
    bound.isMessage = bool(getReceived(program, index));
    if (bound.isMessage)
      return bound;
    bound.name = argumentName(program, index);
    train::StateOp state =
        states.find(program.getArgAttr(index, train::kStateAttr));
    bound.isTerm = isTermOfRole(program, state);
    bound.division = argumentDivision(program, index, state);
    bound.coordinate = coordinateAxis(state);
    return bound;
  }

  static Bound getResult(func::FuncOp program, unsigned index,
                         const States &states) {
    Bound bound;
    bound.isMessage = bool(getSent(program, index));
    if (bound.isMessage)
      return bound;
    bound.name = resultName(program, index);
    train::StateOp state =
        states.find(program.getResultAttr(index, train::kStateAttr));
    bound.isTerm = isTermOfRole(program, state);
    bound.isServers = bool(program.getResultAttr(index, dist::kServerAttr));
    bound.division = resultDivision(program, index, state);
    bound.wholeType = wholeResultType(program, index);
    return bound;
  }

  FailureOr<NamedTensors> runAlone(const llvm::StringMap<Tensor> &values) {
    func::FuncOp program = programs.front();
    std::vector<Tensor> inputs;
    for (const Bound &argument : arguments.front())
      inputs.push_back(values.at(argument.name));
    auto found = interpreter.run(program, inputs);
    if (failed(found))
      return failure();
    for (auto [bound, result] : llvm::zip_equal(results.front(), *found))
      joined.emplace_back(bound.name, std::move(result));
    return joined;
  }

  /// Whether a role in front of `role` has the argument too.
  bool isInFront(int64_t role, StringRef name) {
    return llvm::any_of(ArrayRef(arguments).take_front(role),
                        [&](const std::vector<Bound> &others) {
                          return llvm::any_of(others, [&](const Bound &other) {
                            return !other.isMessage && other.name == name;
                          });
                        });
  }

  /// The arguments of one rank.
  std::vector<Tensor> takeParts(int64_t rank,
                                const llvm::StringMap<Tensor> &values) {
    int64_t role = roleOf(rank, programs.size(), mesh);
    std::vector<Tensor> parts;
    for (const Bound &argument : arguments[role])
      parts.push_back(takePartOf(argument, role, rank, values));
    return parts;
  }

  Tensor takePartOf(const Bound &argument, int64_t role, int64_t rank,
                    const llvm::StringMap<Tensor> &values) {
    if (argument.isMessage)
      return Tensor();
    if (argument.coordinate)
      return Tensor::ofIntegers(
          {}, {mesh.getCoordinates(rank)[mesh.findAxis(argument.coordinate)]});
    Tensor part =
        takePart(values.at(argument.name), argument.division, mesh, rank);
    if (argument.isTerm && isInFront(role, argument.name)) {
      std::fill(part.floats.begin(), part.floats.end(), 0);
      std::fill(part.integers.begin(), part.integers.end(), 0);
    }
    return part;
  }

  LogicalResult joinRole(int64_t role,
                         std::vector<std::vector<Tensor>> &found) {
    func::FuncOp program = programs[role];
    for (auto [index, bound] : llvm::enumerate(results[role])) {
      if (bound.isMessage)
        continue;
      std::vector<Tensor> parts;
      for (auto [rank, mine] : llvm::enumerate(found))
        if (roleOf(rank, programs.size(), mesh) == role)
          parts.push_back(std::move(mine[index]));
      if (bound.isServers)
        std::fill(parts.begin() + 1, parts.end(), parts.front());
      std::string error;
      auto whole = joinParts(parts, bound.wholeType.getShape(), bound.division,
                             meshOfRole(mesh, programs.size()), error);
      if (failed(whole))
        return program.emitOpError("result ") << index << ": " << error;
      if (failed(addResult(role, index, std::move(*whole))))
        return failure();
    }
    return success();
  }

  LogicalResult addResult(int64_t role, unsigned index, Tensor whole) {
    func::FuncOp program = programs[role];
    const std::string &name = results[role][index].name;
    auto [place, isNew] =
        places.try_emplace(name, std::make_pair(role, joined.size()));
    if (isNew || place->second.first == role) {
      joined.emplace_back(name, std::move(whole));
      return success();
    }
    Tensor &other = joined[place->second.second].second;
    bool fits = other.kind == whole.kind && other.shape == whole.shape;
    if (fits && results[role][index].isTerm) {
      for (auto [sum, term] : llvm::zip_equal(other.floats, whole.floats))
        sum += term;
      for (auto [sum, term] : llvm::zip_equal(other.integers, whole.integers))
        sum += term;
      return success();
    }
    if (fits && isMetricOfRole(program, index)) {
      for (auto [sum, term] : llvm::zip_equal(other.floats, whole.floats))
        sum = name == "loss" ? sum + term : std::hypot(sum, term);
      return success();
    }
    if (fits && areAlike(other, whole))
      return success();
    return program.emitOpError("of role ")
           << role << kOtherThanRole << name << "' than role "
           << place->second.first;
  }

  Interpreter &interpreter;
  ArrayRef<func::FuncOp> programs;
  dist::MeshAttr mesh;
  std::vector<std::vector<Bound>> arguments, results; // of each role
  NamedTensors joined;
  /// By name: the first role that has it, and where it is in `joined`.
  std::map<std::string, std::pair<int64_t, size_t>> places;
};
} // namespace

FailureOr<NamedTensors> runPrograms(Interpreter &interpreter,
                                    ArrayRef<func::FuncOp> programs,
                                    const llvm::StringMap<Tensor> &values) {
  return ProgramRun(interpreter, programs).run(values);
}

FailureOr<NamedTensors> bindAndRun(Interpreter &interpreter,
                                   ArrayRef<func::FuncOp> programs,
                                   llvm::StringMap<Tensor> given) {
  if (programs.empty())
    return NamedTensors();
  auto bound = bindArguments(programs, std::move(given), std::nullopt);
  if (failed(bound))
    return failure();
  return runPrograms(interpreter, programs, *bound);
}

} // namespace zc::interpreter
