//===- Steps.cpp - steps of training, interpreted -------------------------===//
#include "compiler/Interpreter/Bindings.h"
#include "compiler/Interpreter/Copies.h"
#include "compiler/Interpreter/Ranks.h"
#include "compiler/Interpreter/Replicas.h"
#include "compiler/Interpreter/Roles.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Versions.h"

#include <map>
#include <set>

using namespace mlir;

namespace zc::interpreter {

/// Part `number` of `whole` along `dim`, of `size`; it begins again at its end.
static FailureOr<Tensor> takeSamples(const Tensor &whole, int64_t dim,
                                     int64_t size, int64_t number) {
  if (dim >= int64_t(whole.shape.size()) || whole.shape[dim] % size != 0 ||
      whole.shape[dim] == 0)
    return failure();
  int64_t begin = number * size % whole.shape[dim], outer = 1, inner = 1;
  for (auto [at, extent] : llvm::enumerate(whole.shape))
    (int64_t(at) < dim ? outer : inner) *= int64_t(at) == dim ? 1 : extent;
  Tensor part = whole;
  part.shape[dim] = size;
  auto cut = [&](const auto &from, auto &to) {
    to.clear();
    for (int64_t i = 0; !from.empty() && i < outer; ++i) {
      auto first = from.begin() + (i * whole.shape[dim] + begin) * inner;
      to.insert(to.end(), first, first + size * inner);
    }
  };
  cut(whole.floats, part.floats);
  cut(whole.integers, part.integers);
  return part;
}

namespace {
class Trainer {
public:
  Trainer(Interpreter &interpreter, ModuleOp module,
          const llvm::StringMap<Tensor> &given)
      : interpreter(interpreter), module(module), inputs(given) {}

  FailureOr<NamedTensors> run(StepCount count) {
    if (failed(findAll()))
      return failure();
    for (done = 0; done < count.steps; ++done) {
      const int64_t step = done;
      for (int64_t i = 0; i < count.microBatches; ++i)
        if (failed(runOne(programsOf(i), step * count.microBatches + i,
                          /*ofSamples=*/true)))
          return failure();
      if (!apply.empty() && failed(runOne(apply, 0, /*ofSamples=*/false)))
        return failure();
    }
    llvm::StringMap<Tensor> left = inputs;
    for (const auto &[name, tensor] : states)
      left[name] = tensor;
    if (failed(checkCopies(interpreter, module, left)))
      return failure();
    return NamedTensors(written.begin(), written.end());
  }

private:
  LogicalResult find(StringRef name, SmallVector<func::FuncOp> &programs) {
    auto found = findPrograms(module, name);
    if (succeeded(found))
      programs = *found;
    return found;
  }

  /// The programs, and the states that @init and @copy make.
  LogicalResult findAll() {
    SmallVector<func::FuncOp> init;
    if (failed(find(train::kInitProgram, init)) ||
        failed(find(train::kCopyProgram, copy)) ||
        failed(find(train::kStepProgram, micro)) ||
        (micro.empty() && (failed(find(train::kMicroProgram, micro)) ||
                           failed(find(train::kApplyProgram, apply)))))
      return failure();
    if (micro.empty())
      return module.emitOpError("has no program 'step' and no 'micro'");
    SmallVector<func::FuncOp> all = micro;
    for (const auto &each : {apply, init, copy})
      llvm::append_range(all, each);
    if (failed(checkNames(all, inputs)) || failed(make(init)) ||
        failed(make(copy)))
      return failure();
    for (func::FuncOp program : micro)
      for (unsigned i = 0; i < program.getNumArguments(); ++i)
        if (auto state = train::findState(program.getArgument(i));
            state && train::getDelay(state) > 0)
          delays[argumentName(program, i)] = train::getDelay(state);
    first = states;
    return findTurns();
  }

  /// Replicas of stages take micro-batches in turn.
  LogicalResult findTurns() {
    FailureOr<int64_t> turns = countTurns(module);
    if (failed(turns))
      return failure();
    for (int64_t turn = 0; *turns > 1 && turn < *turns; ++turn) {
      modules.push_back(takeActiveRoles(module, turn));
      SmallVector<func::FuncOp> &programs = ofTurns.emplace_back();
      for (ModuleOp role : modules.back()->getOps<ModuleOp>())
        programs.push_back(
            role.lookupSymbol<func::FuncOp>(train::kMicroProgram));
    }
    return success();
  }

  ArrayRef<func::FuncOp> programsOf(int64_t microBatch) const {
    return ofTurns.empty() ? micro : ofTurns[microBatch % ofTurns.size()];
  }

  /// Sets the older versions of states that a sample's programs read.
  void takeVersions(llvm::StringMap<Tensor> &values) const {
    for (const auto &[name, delay] : delays) {
      const int64_t version = std::max<int64_t>(0, done - delay);
      values.erase(name);
      if (version > 0)
        values[name] = versions.at(name)[size_t(version - 1)];
      else if (auto made = first.find(name); made != first.end())
        values[name] = made->second;
      else if (auto given = inputs.find(name); given != inputs.end())
        values[name] = given->second;
    }
  }

  /// States that the user does not give.
  LogicalResult make(ArrayRef<func::FuncOp> programs) {
    if (llvm::all_of(programs, [&](func::FuncOp program) {
          return llvm::all_of(llvm::seq(program.getNumResults()),
                              [&](unsigned i) {
                                return inputs.contains(resultName(program, i));
                              });
        }))
      return success();
    auto made = runBound(programs, inputs);
    if (failed(made))
      return failure();
    for (auto &[name, tensor] : *made)
      if (!inputs.contains(name))
        states[name] = std::move(tensor);
    return success();
  }

  FailureOr<NamedTensors> runBound(ArrayRef<func::FuncOp> programs,
                                   llvm::StringMap<Tensor> values,
                                   bool ofSamples = false) {
    for (const auto &[name, tensor] : states)
      values[name] = tensor;
    if (ofSamples)
      takeVersions(values);
    return bindAndRun(interpreter, programs, std::move(values));
  }

  LogicalResult takeInputs(ArrayRef<func::FuncOp> programs, int64_t number,
                           llvm::StringMap<Tensor> &values) {
    for (func::FuncOp program : programs)
      for (unsigned i = 0; i < program.getNumArguments(); ++i) {
        auto name = program.getArgAttrOfType<StringAttr>(i, train::kInputAttr);
        auto dim =
            program.getArgAttrOfType<IntegerAttr>(i, train::kBatchDimAttr);
        auto found = name ? inputs.find(name) : inputs.end();
        if (!dim || found == inputs.end())
          continue;
        int64_t size = wholeArgumentType(program, i).getDimSize(dim.getInt());
        auto part = takeSamples(found->second, dim.getInt(), size, number);
        if (failed(part))
          return program.emitOpError("takes ")
                 << size << " samples of '" << name.getValue()
                 << "' at a time, which has [" << found->second.shape << "]";
        values[name] = std::move(*part);
      }
    return success();
  }

  LogicalResult runOne(ArrayRef<func::FuncOp> programs, int64_t number,
                       bool ofSamples) {
    llvm::StringMap<Tensor> values = inputs;
    if (failed(takeInputs(programs, number, values)))
      return failure();
    auto results = runBound(programs, std::move(values), ofSamples);
    if (failed(results))
      return failure();
    std::set<std::string> ofStates;
    for (func::FuncOp program : programs)
      for (unsigned i = 0; i < program.getNumResults(); ++i)
        if (program.getResultAttr(i, train::kStateAttr))
          ofStates.insert(resultName(program, i));
    for (auto &[name, tensor] : *results) {
      if (ofStates.count(name))
        states[name] = tensor;
      if (delays.count(name))
        versions[name].push_back(tensor);
      written[name] = std::move(tensor);
    }
    return success();
  }

  Interpreter &interpreter;
  ModuleOp module;
  const llvm::StringMap<Tensor> &inputs;  // and states that the user gives
  SmallVector<func::FuncOp> micro, apply; // micro: or the whole step
  SmallVector<func::FuncOp> copy;         // makes copies of parameters
  // The replicas' programs for a micro-batch, by its number's turn.
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<SmallVector<func::FuncOp>> ofTurns;
  std::map<std::string, Tensor> states; // made or written so far
  std::map<std::string, Tensor> written;
  // Without flush: how many steps late states are read, as they were first, and
  // as each step has left them.
  std::map<std::string, int64_t> delays;
  std::map<std::string, Tensor> first;
  std::map<std::string, std::vector<Tensor>> versions;
  int64_t done = 0; // steps
};
} // namespace

FailureOr<NamedTensors> runSteps(Interpreter &interpreter, ModuleOp module,
                                 const llvm::StringMap<Tensor> &given,
                                 StepCount count) {
  return Trainer(interpreter, module, given).run(count);
}

} // namespace zc::interpreter
