//===- Compare.cpp - whether two modules train alike ----------------------===//
#include "compiler/Interpreter/Compare.h"

#include "compiler/Interpreter/Bindings.h"
#include "compiler/Interpreter/Copies.h"
#include "compiler/Interpreter/Ranks.h"
#include "compiler/Interpreter/Units.h"
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/Messages.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <map>
#include <random>
#include <set>

using namespace mlir;

namespace zc::interpreter {

namespace {

/// How much smaller one half of the elements of an optimizer's states is drawn
/// than the other; squares by as much again.
constexpr double kSmall = 1e-6;

/// Whether the element at that place is of the small half: one of each pair is,
/// so that the tensors of four elements that small dims leave have some. Bits
/// are mixed twice, so that no length of rows makes whole columns small; among
/// the numbers of the first pair, this one does so least in tensors of at most
/// twelve columns.
bool isSmall(size_t place) {
  constexpr uint32_t kFirstPair = 444;
  uint32_t mixed = (uint32_t(place / 2) + kFirstPair) * 2654435769u;
  mixed = (mixed ^ mixed >> 15) * 2246822519u;
  return (place % 2 != 0) == bool(mixed >> 31);
}

/// Whether a state is a count, such as that of the steps that are done.
bool isCount(train::StateOp state) {
  return state && state.getKind() == train::kScalar &&
         state.getTensorType().getRank() == 0 &&
         !isa<FloatType>(state.getTensorType().getElementType());
}

/// Whether a state is the optimizer's own.
bool isOfOptimizer(train::StateOp state) {
  return state && (state.getKind() == train::kOptimizer || isCount(state));
}

/// Sums and means of squares are.
bool isPositive(train::StateOp state) {
  if (state.getKind() == train::kStatistic)
    return true;
  const StringRef slot = state.getSlot().value_or("");
  return slot.ends_with("_sq") || slot.ends_with("var") || slot == "variance" ||
         slot.starts_with("accumulator_");
}

/// The largest elements of the last steps' tensors of 8 bits, whose range
/// follows from them: smaller ones would leave nothing but the largest.
bool isHistory(train::StateOp state) {
  return state &&
         state.getSlot().value_or("").starts_with(train::kAmaxSlotPrefix);
}

/// Values for what a module's programs read.
class Drawing {
public:
  explicit Drawing(unsigned seed) : random(seed) {}

  Tensor draw(func::FuncOp program, unsigned index, int64_t microBatches) {
    RankedTensorType type = wholeArgumentType(program, index);
    SmallVector<int64_t> shape(type.getShape());
    train::StateOp state = train::findState(program.getArgument(index));
    if (auto dim =
            program.getArgAttrOfType<IntegerAttr>(index, train::kBatchDimAttr))
      shape[dim.getInt()] *= microBatches;
    if (!isa<FloatType>(type.getElementType()))
      return drawIntegers(program, index, shape);
    if (isHistory(state))
      return drawFloats(shape, 1, 4);
    Tensor drawn = drawFloats(shape, state);
    if (isOfOptimizer(state))
      makeSmall(drawn, isPositive(state) ? kSmall * kSmall : kSmall);
    return drawn;
  }

  /// A count of steps that are done.
  Tensor drawCount() {
    return Tensor::ofIntegers({}, {3 + int64_t(random() % 5)});
  }

private:
  static bool hasSign(train::StateOp state) {
    return state.getKind() == train::kOptimizer ||
           state.getKind() == train::kAccumulator;
  }

  /// A state hides small numbers that a gradient adds to it; were all of it
  /// small, nothing would show whether it is read.
  static void makeSmall(Tensor &tensor, double factor) {
    for (size_t place = 0; place < tensor.floats.size(); ++place)
      if (isSmall(place))
        tensor.floats[place] *= factor;
  }

  Tensor drawFloats(ArrayRef<int64_t> shape, train::StateOp state) {
    // Variances and the scales of norms stay away from 0.
    if (state && (isPositive(state) || (shape.size() < 2 && !hasSign(state))))
      return drawFloats(shape, 0.5, 1.5);
    const double largest = shape.empty() ? 1 : *llvm::max_element(shape);
    const double limit = state ? 1 / std::sqrt(std::max(1.0, largest)) : 1;
    return drawFloats(shape, -limit, limit);
  }

  Tensor drawFloats(ArrayRef<int64_t> shape, double low, double high) {
    std::vector<double> floats(ShapedType::getNumElements(shape));
    for (double &number : floats)
      number = low + (high - low) * double(random() >> 11) * 0x1p-53;
    return Tensor::ofFloats(shape, std::move(floats));
  }

  Tensor drawIntegers(func::FuncOp program, unsigned index,
                      ArrayRef<int64_t> shape) {
    const auto [low, high] = integerRange(program, index);
    std::vector<int64_t> integers(ShapedType::getNumElements(shape));
    for (int64_t &number : integers)
      number = low + int64_t(random() % uint64_t(high - low));
    return Tensor::ofIntegers(shape, std::move(integers));
  }

  std::mt19937_64 random;
};

} // namespace

/// The states that @init and @copy make.
static std::set<std::string> findMade(ModuleOp module) {
  std::set<std::string> made;
  for (StringRef name : {train::kInitProgram, train::kCopyProgram})
    if (auto program = module.lookupSymbol<func::FuncOp>(name))
      for (unsigned i = 0; i < program.getNumResults(); ++i)
        made.insert(resultName(program, i));
  return made;
}

/// Whether a state need not be drawn. @init makes zeros of weights that have no
/// value, from which nothing would move; and of what an optimizer keeps, which
/// a first step then seems to read whatever it reads, and from which a gradient
/// that is 0 but for rounding may move a weight as far as any other (SM3). So
/// the first step is one in the midst of a training: its count of steps is
/// drawn as well, since a first step multiplies averages and factors by 0.
static bool isAtHand(train::StateOp state, bool isMade) {
  if (!state)
    return false;
  const train::StateKind kind = state.getKind();
  if (kind == train::kParameter || kind == train::kStatistic ||
      isOfOptimizer(state))
    return false;
  return isMade || (state.getValue() && kind == train::kConstant);
}

/// A rate at which a step is neither nothing nor all.
static Tensor rateOfLearning() { return Tensor::ofFloats({}, {0.1}); }

/// Draws the inputs of both modules: all that `one` reads and does not make.
static llvm::StringMap<Tensor> drawAll(ModuleOp one, StepCount count,
                                       unsigned seed) {
  const std::set<std::string> made = findMade(one);
  llvm::StringMap<Tensor> values;
  Drawing drawing(seed);
  for (StringRef name : {train::kStepProgram, train::kMicroProgram,
                         train::kApplyProgram, train::kInitProgram}) {
    auto program = one.lookupSymbol<func::FuncOp>(name);
    for (unsigned i = 0; program && i < program.getNumArguments(); ++i) {
      std::string argument = argumentName(program, i);
      train::StateOp state = train::findState(program.getArgument(i));
      if (values.count(argument) || isAtHand(state, made.count(argument)))
        continue;
      values[argument] =
          isCount(state)
              ? drawing.drawCount()
              : drawing.draw(program, i, count.microBatches * count.steps);
    }
  }
  values["lr"] = rateOfLearning();
  return values;
}

/// Draws all arguments of one program, and the parameters that @copy reads
/// besides.
static llvm::StringMap<Tensor>
drawArguments(ModuleOp module, func::FuncOp program, unsigned seed) {
  llvm::StringMap<Tensor> values;
  Drawing drawing(seed);
  auto drawOf = [&](func::FuncOp program) {
    for (unsigned i = 0; i < program.getNumArguments(); ++i) {
      train::StateOp state = train::findState(program.getArgument(i));
      if (!values.contains(argumentName(program, i)))
        values[argumentName(program, i)] =
            isCount(state) ? drawing.drawCount()
                           : drawing.draw(program, i, /*microBatches=*/1);
    }
  };
  drawOf(program);
  if (auto copy = module.lookupSymbol<func::FuncOp>(train::kCopyProgram))
    drawOf(copy);
  values["lr"] = rateOfLearning();
  return values;
}

/// Drops values whose names are not those of the module's arguments.
static void dropUnknown(ModuleOp module, llvm::StringMap<Tensor> &values) {
  std::set<std::string> known;
  module.walk([&](func::FuncOp program) {
    for (unsigned i = 0; i < program.getNumArguments(); ++i)
      if (!getReceived(program, i))
        known.insert(argumentName(program, i));
  });
  SmallVector<std::string> unknown;
  for (const auto &entry : values)
    if (!known.count(entry.getKey().str()))
      unknown.push_back(entry.getKey().str());
  for (const std::string &name : unknown)
    values.erase(name);
}

/// Runs a module with values by their names: packs them into its units, and
/// takes results out of these.
static FailureOr<llvm::StringMap<Tensor>> runWithUnits(
    ModuleOp module, llvm::StringMap<Tensor> values,
    llvm::function_ref<FailureOr<NamedTensors>(const llvm::StringMap<Tensor> &)>
        run) {
  Units units(module);
  units.pack(values);
  dropUnknown(module, values);
  auto written = run(values);
  if (failed(written))
    return failure();
  std::string error;
  if (failed(units.unpack(*written, error)))
    return module.emitError(error);
  llvm::StringMap<Tensor> results;
  for (auto &[name, tensor] : *written)
    results[name] = std::move(tensor);
  return results;
}

/// The states that @init makes.
static FailureOr<llvm::StringMap<Tensor>>
makeFirst(Interpreter &interpreter, ModuleOp module,
          const llvm::StringMap<Tensor> &values) {
  auto programs = findPrograms(module, train::kInitProgram);
  if (failed(programs))
    return failure();
  return runWithUnits(module, values,
                      [&](const llvm::StringMap<Tensor> &packed) {
                        return bindAndRun(interpreter, *programs, packed);
                      });
}

/// Whether copies follow what one run of a program has written.
static LogicalResult checkCopiesAfter(Interpreter &interpreter, ModuleOp module,
                                      llvm::StringMap<Tensor> values,
                                      const llvm::StringMap<Tensor> &written) {
  auto made = makeCopies(interpreter, module, values);
  if (failed(made))
    return failure();
  for (auto &[name, tensor] : *made)
    values[name] = std::move(tensor);
  for (const auto &entry : written)
    values[entry.getKey()] = entry.second;
  return checkCopies(interpreter, module, values);
}

static FailureOr<llvm::StringMap<Tensor>>
runOnce(Interpreter &interpreter, ModuleOp module, StringRef name,
        const llvm::StringMap<Tensor> &values) {
  auto programs = findPrograms(module, name);
  if (failed(programs))
    return failure();
  if (programs->empty())
    return module.emitOpError("has no program '") << name << "'";
  auto written = bindAndRun(interpreter, *programs, values);
  if (failed(written))
    return failure();
  llvm::StringMap<Tensor> results;
  for (auto &[name, tensor] : *written)
    results[name] = std::move(tensor);
  if (failed(checkCopiesAfter(interpreter, module, values, results)))
    return failure();
  return results;
}

/// Elements that both have as NaN or as one infinity differ by nothing.
static double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  const double by = std::abs(a - b);
  return std::isnan(by) ? std::numeric_limits<double>::infinity() : by;
}

/// The least scale of errors, for tensors that are 0 but for rounding, as the
/// gradient of a bias before a batch norm.
static double leastScale(train::StateOp state) {
  return isOfOptimizer(state) && isPositive(state) ? kSmall * kSmall : 1e-3;
}

/// The distance of two tensors, which are those of `state` if it is not null:
/// each half of an optimizer's beside the largest element of that half.
static double compare(const Tensor &one, const Tensor &other,
                      train::StateOp state, Comparison &comparison) {
  if (one.shape != other.shape || one.kind != other.kind)
    return std::numeric_limits<double>::infinity();
  if (!one.isFloat())
    return one.integers == other.integers ? 0 : 1;
  const bool hasHalves = isOfOptimizer(state);
  double largest[2] = {leastScale(state), leastScale(state)};
  double furthest[2] = {0, 0};
  for (size_t place = 0; place < one.floats.size(); ++place) {
    const double a = one.floats[place], b = other.floats[place];
    const bool half = hasHalves && isSmall(place);
    if (std::isfinite(a))
      largest[half] = std::max(largest[half], std::abs(a));
    furthest[half] = std::max(furthest[half], distance(a, b));
    comparison.notNumbers += std::isnan(a);
    comparison.zeros += a == 0 && b == 0;
  }
  comparison.elements += int64_t(one.floats.size());
  return std::max(furthest[0] / largest[0], furthest[1] / largest[1]);
}

/// The values with an error of float32's last digit.
static llvm::StringMap<Tensor> disturb(llvm::StringMap<Tensor> values) {
  std::mt19937_64 random(2);
  for (auto &entry : values)
    for (double &number : entry.second.floats)
      number *= 1 + (double(random() >> 11) * 0x1p-52 - 1) * 0x1p-24;
  return values;
}

/// How a module makes what is compared of given values.
using Run = llvm::function_ref<FailureOr<llvm::StringMap<Tensor>>(
    ModuleOp, llvm::StringMap<Tensor>)>;

/// Leaves the differences that rounding does not explain.
static LogicalResult forgiveRounding(Run run, ModuleOp one,
                                     const llvm::StringMap<Tensor> &values,
                                     const llvm::StringMap<Tensor> &expected,
                                     Tolerance tolerance,
                                     Comparison &comparison) {
  auto disturbed = run(one, disturb(values));
  if (failed(disturbed))
    return failure();
  // Allow as much as the tensor that moves most: its error spreads. Beyond
  // that, a tensor that itself moves further is noisy, such as an update
  // without epsilon from a gradient that is 0 but for rounding.
  double most = 0;
  llvm::StringMap<double> moved;
  Comparison ignored;
  for (const auto &entry : expected) {
    const double by =
        compare(entry.second, disturbed->at(entry.getKey()),
                one.lookupSymbol<train::StateOp>(entry.getKey()), ignored);
    moved[entry.getKey()] = by;
    most = std::max(most, by);
  }
  const double explained = tolerance.factor * most;
  const double allowed = std::min(explained, tolerance.most);
  comparison.rounding = allowed;
  llvm::erase_if(comparison.beyond, [&](const Difference &each) {
    if (!std::isfinite(each.error))
      return false;
    const double noise =
        std::min(tolerance.factor * moved.lookup(each.name), tolerance.noise);
    if (each.error <= allowed)
      comparison.worst = std::max(comparison.worst, each.error);
    else if (each.error <= noise)
      ++comparison.noisy;
    else if (each.error <= std::min(explained, tolerance.doubt))
      comparison.doubtful.push_back(each);
    else
      return false;
    return true;
  });
  return success();
}

bool saysRanksDisagree(StringRef diagnostic) {
  return diagnostic.contains(kNotACopy) || diagnostic.contains(kOtherInUnit) ||
         diagnostic.contains(kOtherThanRole) || diagnostic.contains(kStaleCopy);
}

/// The narrow copies of parameters, which are not compared: a rank's part of
/// one may be blocks of the whole that only the parameter describes, which is
/// compared. Whoever runs programs sees that they are copies of it.
static llvm::StringSet<> findCopies(ModuleOp module) {
  llvm::StringSet<> copies;
  module.walk([&](train::StateOp state) {
    if (state.getKind() == train::kCopy)
      copies.insert(state.getSymName());
  });
  return copies;
}

static FailureOr<Comparison> compareRuns(Run run, ModuleOp one, ModuleOp other,
                                         const llvm::StringMap<Tensor> &values,
                                         Tolerance tolerance) {
  auto expected = run(one, values);
  if (failed(expected))
    return failure();
  auto found = run(other, values);
  if (failed(found))
    return failure();
  Comparison comparison;
  if (auto norm = expected->find("grad_norm"); norm != expected->end())
    comparison.gradientNorm = norm->second.floats.front();
  const llvm::StringSet<> copies = findCopies(one);
  for (const auto &entry : *expected) {
    if (copies.contains(entry.getKey()))
      continue;
    auto place = found->find(entry.getKey());
    const bool has = place != found->end();
    if (!has && entry.getKey().starts_with("accumulated."))
      continue; // roles add up by layer
    const double error =
        has ? compare(entry.second, place->second,
                      one.lookupSymbol<train::StateOp>(entry.getKey()),
                      comparison)
            : std::numeric_limits<double>::infinity();
    comparison.tensors += has;
    if (error <= tolerance.limit)
      comparison.worst = std::max(comparison.worst, error);
    else
      comparison.beyond.push_back({entry.getKey().str(), error});
  }
  if (!comparison.beyond.empty() &&
      failed(
          forgiveRounding(run, one, values, *expected, tolerance, comparison)))
    return failure();
  llvm::sort(comparison.beyond, [](const Difference &a, const Difference &b) {
    return std::make_pair(-a.error, a.name) < std::make_pair(-b.error, b.name);
  });
  comparison.tensors -= comparison.noisy;
  return comparison;
}

/// How far two states are from one another of which only steps behind a warm-up
/// read: their shapes differ in a divided program, but each is of one number.
static double compareNumbers(const Tensor &one, const Tensor &other) {
  auto isOfOne = [](const Tensor &tensor) {
    return !tensor.floats.empty() && llvm::all_equal(tensor.floats);
  };
  return isOfOne(one) && isOfOne(other)
             ? distance(one.floats.front(), other.floats.front())
             : std::numeric_limits<double>::infinity();
}

/// Compares the states that the optimizer begins with, since steps begin with
/// drawn ones.
static LogicalResult compareFirst(Interpreter &interpreter, ModuleOp one,
                                  ModuleOp other,
                                  const llvm::StringMap<Tensor> &values,
                                  Tolerance tolerance, Comparison &comparison) {
  auto expected = makeFirst(interpreter, one, values);
  auto found = makeFirst(interpreter, other, values);
  if (failed(expected) || failed(found))
    return failure();
  Comparison ignored; // zeros, for the most part
  for (const auto &entry : *expected) {
    auto place = found->find(entry.getKey());
    auto state = one.lookupSymbol<train::StateOp>(entry.getKey());
    if (!isOfOptimizer(state))
      continue;
    const bool has = place != found->end();
    const double error =
        !has ? std::numeric_limits<double>::infinity()
        : entry.second.shape == place->second.shape
            ? compare(entry.second, place->second, state, ignored)
            : compareNumbers(entry.second, place->second);
    if (!(error <= tolerance.limit))
      comparison.atFirst.push_back({entry.getKey().str() + " at first", error});
  }
  return success();
}

FailureOr<Comparison> compareSteps(Interpreter &interpreter, ModuleOp one,
                                   ModuleOp other, StepCount count,
                                   Tolerance tolerance, unsigned seed) {
  auto train = [&](ModuleOp module, llvm::StringMap<Tensor> values) {
    return runWithUnits(module, std::move(values),
                        [&](const llvm::StringMap<Tensor> &packed) {
                          return runSteps(interpreter, module, packed, count);
                        });
  };
  const llvm::StringMap<Tensor> values = drawAll(one, count, seed);
  auto comparison = compareRuns(train, one, other, values, tolerance);
  if (failed(comparison) || failed(compareFirst(interpreter, one, other, values,
                                                tolerance, *comparison)))
    return failure();
  return comparison;
}

FailureOr<Comparison> compareProgram(Interpreter &interpreter, ModuleOp one,
                                     ModuleOp other, StringRef name,
                                     Tolerance tolerance, unsigned seed) {
  auto program = one.lookupSymbol<func::FuncOp>(name);
  if (!program)
    return one.emitOpError("has no program '") << name << "'";
  auto run = [&](ModuleOp module, llvm::StringMap<Tensor> values) {
    return runOnce(interpreter, module, name, values);
  };
  return compareRuns(run, one, other, drawArguments(one, program, seed),
                     tolerance);
}

} // namespace zc::interpreter
