//===- Bindings.cpp - a program's arguments and results by name -----------===//
#include "compiler/Interpreter/Bindings.h"

#include "compiler/Interpreter/Ranks.h"

#include "dialects/Train/StateLookup.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/Messages.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <random>
#include <set>

using namespace mlir;

namespace zc::interpreter {

/// Whether a state is a vector of parameters of one role, or belongs to one:
/// roles number theirs each by itself.
static bool isOfUnit(train::StateOp state) {
  ModuleOp units;
  for (auto nested : state->getParentOfType<ModuleOp>().getOps<ModuleOp>())
    if (nested.getName() == dist::kUnitModule)
      units = nested;
  if (!units)
    return false;
  std::string name = ("." + state.getSymName() + ".").str();
  return llvm::any_of(
      units.getOps<train::StateOp>(), [&](train::StateOp member) {
        std::optional<StringRef> unit = member.getUnit();
        return unit && StringRef(name).contains(("." + *unit + ".").str());
      });
}

static IntegerAttr findRole(func::FuncOp func) {
  return func->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(
      train::kRoleAttr);
}

/// A name of one role's own: "role1.unit.0".
static std::string ownName(func::FuncOp func, const Twine &name) {
  IntegerAttr role = findRole(func);
  return role ? ("role" + Twine(role.getInt()) + "." + name).str() : name.str();
}

static std::string boundName(func::FuncOp func, DictionaryAttr attrs,
                             ArrayRef<StringRef> keys, const Twine &otherwise) {
  for (StringRef key : keys) {
    if (!attrs || !attrs.get(key))
      continue;
    if (auto name = dyn_cast<StringAttr>(attrs.get(key)))
      return name.str();
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attrs.get(key))) {
      // To look up each of many states takes longer than to run the program.
      if (!findRole(func))
        return symbol.getValue().str();
      train::StateOp state = train::findState(func, symbol);
      return state && isOfUnit(state) ? ownName(func, symbol.getValue())
                                      : symbol.getValue().str();
    }
  }
  return ownName(func, otherwise);
}

std::string argumentName(func::FuncOp func, unsigned index) {
  return boundName(func, func.getArgAttrDict(index),
                   {train::kInputAttr, train::kStateAttr},
                   "arg" + Twine(index));
}

std::string resultName(func::FuncOp func, unsigned index) {
  return boundName(func, func.getResultAttrDict(index),
                   {train::kOutputAttr, train::kMetricAttr, train::kStateAttr,
                    train::kGradientAttr},
                   "result" + Twine(index));
}

std::optional<Tensor> tensorOf(ElementsAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return std::nullopt;
  ArrayRef<int64_t> shape = dense.getType().getShape();
  Type element = dense.getElementType();
  if (isa<FloatType>(element)) {
    auto toDouble = [](APFloat number) {
      bool loses;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &loses);
      return number.convertToDouble();
    };
    if (dense.isSplat())
      return Tensor::ofFloats(
          shape, std::vector<double>(dense.getNumElements(),
                                     toDouble(dense.getSplatValue<APFloat>())));
    std::vector<double> floats;
    for (const APFloat &number : dense.getValues<APFloat>())
      floats.push_back(toDouble(number));
    return Tensor::ofFloats(shape, std::move(floats));
  }
  bool isUnsigned = element.isInteger(1) || element.isUnsignedInteger();
  std::vector<int64_t> integers;
  for (const APInt &number : dense.getValues<APInt>())
    integers.push_back(isUnsigned ? static_cast<int64_t>(number.getZExtValue())
                                  : number.getSExtValue());
  return Tensor::ofIntegers(shape, std::move(integers));
}

/// The value that the module stores for the state an argument is bound to.
static std::optional<Tensor> storedValue(func::FuncOp func, unsigned index) {
  train::StateOp state = train::findState(func.getArgument(index));
  if (!state || !state.getValue())
    return std::nullopt;
  return tensorOf(*state.getValue());
}

std::pair<int64_t, int64_t> integerRange(func::FuncOp func, unsigned index) {
  auto range =
      func.getArgAttrOfType<DenseI64ArrayAttr>(index, train::kRangeAttr);
  if (range && range.size() >= 2 && range[0] < range[1])
    return {range[0], range[1]};
  return {0, 2};
}

static Tensor randomArgument(func::FuncOp func, unsigned index,
                             std::mt19937_64 &random) {
  auto type = wholeArgumentType(func, index);
  size_t count = type.getNumElements();
  if (isa<FloatType>(type.getElementType())) {
    std::vector<double> floats(count);
    for (double &number : floats)
      number = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    return Tensor::ofFloats(type.getShape(), std::move(floats));
  }
  const auto [low, high] = integerRange(func, index);
  std::vector<int64_t> integers(count);
  for (int64_t &number : integers)
    number = low +
             static_cast<int64_t>(random() % static_cast<uint64_t>(high - low));
  return Tensor::ofIntegers(type.getShape(), std::move(integers));
}

LogicalResult checkNames(ArrayRef<func::FuncOp> programs,
                         const llvm::StringMap<Tensor> &given) {
  std::set<std::string> unused;
  for (const auto &entry : given)
    unused.insert(entry.getKey().str());
  for (func::FuncOp program : programs)
    for (unsigned index = 0; index < program.getNumArguments(); ++index)
      unused.erase(argumentName(program, index));
  if (unused.empty())
    return success();
  return func::FuncOp(programs.front()).emitOpError("has no argument '")
         << *unused.begin() << "'";
}

/// Roles that hold a state together store the same.
static LogicalResult checkStored(func::FuncOp program, unsigned index,
                                 StringRef name, const Tensor &other) {
  std::optional<Tensor> stored = storedValue(program, index);
  if (!stored ||
      (stored->floats == other.floats && stored->integers == other.integers))
    return success();
  return program.emitOpError("has another value of '")
         << name << "' than a role in front of it";
}

FailureOr<llvm::StringMap<Tensor>>
bindArguments(ArrayRef<func::FuncOp> programs, llvm::StringMap<Tensor> given,
              std::optional<unsigned> seed) {
  std::mt19937_64 random(seed.value_or(0));
  llvm::StringMap<Tensor> values = std::move(given);
  llvm::StringSet<> storedNames;
  std::vector<std::string> missing;
  for (func::FuncOp func : programs)
    for (unsigned index = 0; index < func.getNumArguments(); ++index) {
      std::string name = argumentName(func, index);
      if (getReceived(func, index))
        continue;
      if (values.contains(name)) {
        if (storedNames.contains(name) &&
            failed(checkStored(func, index, name, values[name])))
          return failure();
        continue;
      }
      if (coordinateAxis(train::findState(func.getArgument(index)))) {
        values[name] = Tensor::ofIntegers({}, {0}); // each rank has its own
      } else if (std::optional<Tensor> stored = storedValue(func, index)) {
        values[name] = std::move(*stored);
        storedNames.insert(name);
      } else if (seed) {
        values[name] = randomArgument(func, index, random);
      } else {
        missing.push_back("'" + name + "'");
      }
    }
  if (!missing.empty())
    return func::FuncOp(programs.front()).emitOpError()
           << "needs values for " << llvm::join(missing, ", ")
           << "; give --input or --random";
  return values;
}

void print(llvm::raw_ostream &os, StringRef name, const Tensor &tensor) {
  os << name << ": " << (tensor.isFloat() ? "f" : "i") << " [";
  llvm::interleaveComma(tensor.shape, os);
  os << "] =";
  for (double number : tensor.floats)
    os << " " << llvm::format("%.9g", number + 0.0);
  for (int64_t number : tensor.integers)
    os << " " << number;
  os << "\n";
}

} // namespace zc::interpreter
