//===- Roles.cpp - a program by the names of what it binds ----------------===//
#include "compiler/Interpreter/Roles.h"

#include "compiler/Interpreter/Bindings.h"
#include "compiler/Interpreter/Ranks.h"
#include "compiler/Interpreter/Turns.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Versions.h"
#include "passes/Analysis/Messages.h"

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
// What roles have together
//===----------------------------------------------------------------------===//

/// Whether roles hold no sums of theirs together: none has a flush to make
/// them.
static bool isWithoutFlush(func::FuncOp program) {
  return program->getParentOfType<ModuleOp>()->hasAttr(train::kNoFlushAttr);
}

/// Roles add up their own micro-batches' gradients of what they hold together.
static bool isTermOfRole(func::FuncOp program, DictionaryAttr attributes) {
  train::StateOp state = train::findState(
      program, attributes ? attributes.get(train::kStateAttr) : Attribute());
  return state && state.getKind() == train::kAccumulator &&
         !isWithoutFlush(program);
}

/// Without flush, a metric is of what the role does: the loss where there are
/// labels, and the norm of its own gradients.
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
class ProgramRun {
public:
  ProgramRun(Interpreter &interpreter, ArrayRef<func::FuncOp> programs)
      : interpreter(interpreter), programs(programs),
        mesh(dist::getMesh(func::FuncOp(programs.front()))) {}

  FailureOr<NamedTensors> run(const llvm::StringMap<Tensor> &values) {
    if (!mesh)
      return runAlone(values);
    std::vector<std::vector<Tensor>> inputs;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      inputs.push_back(takeParts(rank, values));
    auto results = interpreter.runOnRanks(programs, mesh, inputs);
    if (failed(results))
      return failure();
    for (size_t role = 0; role < programs.size(); ++role)
      if (failed(joinRole(role, *results)))
        return failure();
    return joined;
  }

private:
  FailureOr<NamedTensors> runAlone(const llvm::StringMap<Tensor> &values) {
    func::FuncOp program = programs.front();
    std::vector<Tensor> inputs;
    for (unsigned index = 0; index < program.getNumArguments(); ++index)
      inputs.push_back(values.at(argumentName(program, index)));
    auto results = interpreter.run(program, inputs);
    if (failed(results))
      return failure();
    for (auto [index, result] : llvm::enumerate(*results))
      joined.emplace_back(resultName(program, index), std::move(result));
    return joined;
  }

  /// Whether a role in front of `role` has the argument too.
  bool isInFront(int64_t role, StringRef name) {
    for (func::FuncOp program : programs.take_front(role))
      for (unsigned i = 0; i < program.getNumArguments(); ++i)
        if (!getReceived(program, i) && argumentName(program, i) == name)
          return true;
    return false;
  }

  /// What one rank binds to its arguments.
  std::vector<Tensor> takeParts(int64_t rank,
                                const llvm::StringMap<Tensor> &values) {
    int64_t role = roleOf(rank, programs.size(), mesh);
    func::FuncOp program = programs[role];
    std::vector<Tensor> parts(program.getNumArguments());
    for (unsigned index = 0; index < parts.size(); ++index) {
      if (getReceived(program, index))
        continue;
      if (StringAttr axis = coordinateAxis(program, index)) {
        parts[index] = Tensor::ofIntegers(
            {}, {mesh.getCoordinates(rank)[mesh.findAxis(axis)]});
        continue;
      }
      std::string name = argumentName(program, index);
      parts[index] = takePart(values.at(name), argumentDivision(program, index),
                              mesh, rank);
      if (isTermOfRole(program, program.getArgAttrDict(index)) &&
          isInFront(role, name)) {
        std::fill(parts[index].floats.begin(), parts[index].floats.end(), 0);
        std::fill(parts[index].integers.begin(), parts[index].integers.end(),
                  0);
      }
    }
    return parts;
  }

  LogicalResult joinRole(int64_t role,
                         std::vector<std::vector<Tensor>> &results) {
    func::FuncOp program = programs[role];
    for (unsigned index = 0; index < program.getNumResults(); ++index) {
      if (getSent(program, index))
        continue;
      std::vector<Tensor> parts;
      for (auto [rank, mine] : llvm::enumerate(results))
        if (roleOf(rank, programs.size(), mesh) == role)
          parts.push_back(std::move(mine[index]));
      std::string error;
      auto whole = joinParts(parts, wholeResultType(program, index).getShape(),
                             resultDivision(program, index),
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
    std::string name = resultName(program, index);
    auto [place, isNew] =
        places.try_emplace(name, std::make_pair(role, joined.size()));
    if (isNew || place->second.first == role) {
      joined.emplace_back(name, std::move(whole));
      return success();
    }
    Tensor &other = joined[place->second.second].second;
    bool fits = other.kind == whole.kind && other.shape == whole.shape;
    if (fits && isTermOfRole(program, program.getResultAttrDict(index))) {
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
    if (fits && other.floats == whole.floats &&
        other.integers == whole.integers)
      return success();
    return program.emitOpError("of role ")
           << role << " gives another '" << name << "' than role "
           << place->second.first;
  }

  Interpreter &interpreter;
  ArrayRef<func::FuncOp> programs;
  dist::MeshAttr mesh;
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

} // namespace zc::interpreter
