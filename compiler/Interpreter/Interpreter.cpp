//===- Interpreter.cpp - runs programs of the train dialect ---------------===//
#include "compiler/Interpreter/Interpreter.h"

#include "compiler/Interpreter/Bindings.h"
#include "compiler/Interpreter/Fractions.h"
#include "compiler/Interpreter/OpKernel.h"
#include "compiler/Interpreter/Turns.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Analysis/Messages.h"

#include <map>

using namespace mlir;

namespace zc::interpreter {

using Shapes = OpKernel::Shapes;
using SharedPair = OpKernel::SharedPair;

static SmallVector<int64_t> shapeOf(Type type) {
  return SmallVector<int64_t>(cast<RankedTensorType>(type).getShape());
}

static Elements newElements(ArrayRef<int64_t> shape) {
  return std::make_shared<std::vector<Slot>>(ShapedType::getNumElements(shape));
}

static Tensor toTensor(const std::vector<Slot> &elements,
                       ArrayRef<int64_t> shape, Type element) {
  if (isa<FloatType>(element)) {
    std::vector<double> floats;
    for (Slot slot : elements)
      floats.push_back(slot.f);
    return Tensor::ofFloats(shape, std::move(floats));
  }
  std::vector<int64_t> integers;
  for (Slot slot : elements)
    integers.push_back(slot.i);
  return Tensor::ofIntegers(shape, std::move(integers));
}

class Interpreter::Implementation {
public:
  explicit Implementation(Precision precision) : precision(precision) {}

  FailureOr<std::vector<Tensor>> run(func::FuncOp func,
                                     ArrayRef<Tensor> inputs);
  FailureOr<std::vector<std::vector<Tensor>>>
  runOnRanks(ArrayRef<func::FuncOp> programs, dist::MeshAttr mesh,
             ArrayRef<std::vector<Tensor>> inputs);
  FailureOr<std::vector<Tensor>> runOnBlock(Operation *op,
                                            ArrayRef<Tensor> inputs,
                                            Shapes resultShapes,
                                            SharedPair shared);

private:
  Elements fromTensor(const Tensor &tensor) const;
  LogicalResult checkInputs(func::FuncOp func, ArrayRef<Tensor> inputs) const;
  LogicalResult runBlock(Block &block, Environment &environment);
  LogicalResult runOp(Operation &op, Environment &environment);
  FailureOr<Environment> bind(func::FuncOp func, ArrayRef<Tensor> inputs) const;
  std::vector<Tensor> collect(func::FuncOp func,
                              const Environment &environment) const;
  LogicalResult runConstant(train::ConstantOp op, Environment &environment);
  LogicalResult runFused(train::FusedOp op, Environment &environment);
  LogicalResult runLinalgForm(Operation &op, Environment &environment);

  /// An op as it is run each time.
  struct Compiled {
    OpKernel *kernel = nullptr;
    SmallVector<int64_t, 2> resultSizes; // elements
  };
  FailureOr<Compiled *> compiledOf(Operation &op);

  Precision precision;
  DenseMap<Operation *, Compiled> ops;
  DenseMap<Attribute, Elements> constants;
  /// Layers are alike: each kind of op is compiled once.
  std::map<std::vector<const void *>, std::unique_ptr<OpKernel>> kinds;
};

Elements Interpreter::Implementation::fromTensor(const Tensor &tensor) const {
  Elements elements = newElements(tensor.shape);
  for (size_t i = 0; i < elements->size(); ++i) {
    Slot &slot = (*elements)[i];
    if (!tensor.isFloat())
      slot.i = tensor.integers[i];
    else if (precision == Precision::Single)
      slot.f = static_cast<float>(tensor.floats[i]);
    else
      slot.f = tensor.floats[i];
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

FailureOr<Interpreter::Implementation::Compiled *>
Interpreter::Implementation::compiledOf(Operation &op) {
  Compiled &mine = ops[&op];
  if (mine.kernel)
    return &mine;
  auto shapesOf = [](TypeRange types) {
    return llvm::map_to_vector(types, [](Type type) { return shapeOf(type); });
  };
  const auto results = shapesOf(op.getResultTypes());
  std::unique_ptr<OpKernel> &kind = kinds[kindOf(&op)];
  if (!kind) {
    auto compiled = OpKernel::compile(&op, shapesOf(op.getOperandTypes()),
                                      results, precision);
    if (failed(compiled))
      return failure();
    kind = std::make_unique<OpKernel>(std::move(*compiled));
  }
  mine.kernel = kind.get();
  for (ArrayRef<int64_t> shape : results)
    mine.resultSizes.push_back(ShapedType::getNumElements(shape));
  return &mine;
}

LogicalResult
Interpreter::Implementation::runLinalgForm(Operation &op,
                                           Environment &environment) {
  auto compiled = compiledOf(op);
  if (failed(compiled))
    return failure();
  SmallVector<std::vector<Slot> *> buffers;
  for (Value operand : op.getOperands())
    buffers.push_back(environment.at(operand).get());
  for (auto [result, size] :
       llvm::zip_equal(op.getResults(), (*compiled)->resultSizes)) {
    auto elements = std::make_shared<std::vector<Slot>>(size);
    buffers.push_back(elements.get());
    environment[result] = std::move(elements);
  }
  return (*compiled)->kernel->run(buffers)
             ? success()
             : op.emitOpError("reads or writes beyond the end of a tensor");
}

FailureOr<std::vector<Tensor>>
Interpreter::Implementation::runOnBlock(Operation *op, ArrayRef<Tensor> inputs,
                                        Shapes resultShapes,
                                        SharedPair shared) {
  SmallVector<SmallVector<int64_t>> operandShapes;
  for (const Tensor &input : inputs)
    operandShapes.push_back(input.shape);
  auto kernel =
      OpKernel::compile(op, operandShapes, resultShapes, precision, shared);
  if (failed(kernel))
    return failure();
  std::vector<Elements> elements;
  for (const Tensor &input : inputs)
    elements.push_back(fromTensor(input));
  for (ArrayRef<int64_t> shape : resultShapes)
    elements.push_back(newElements(shape));
  if (shared)
    elements[inputs.size() + shared->second] = elements[shared->first];
  (void)kernel->run(llvm::map_to_vector(
      elements, [](const Elements &each) { return each.get(); }));
  std::vector<Tensor> results;
  for (auto [index, shape] : llvm::enumerate(resultShapes))
    results.push_back(
        toTensor(*elements[inputs.size() + index], shape,
                 getElementTypeOrSelf(op->getResult(index).getType())));
  return results;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

LogicalResult
Interpreter::Implementation::runConstant(train::ConstantOp op,
                                         Environment &environment) {
  Elements &known = constants[op.getValue()]; // every rank asks for it
  if (known) {
    environment[op.getResult()] = known;
    return success();
  }
  std::optional<Tensor> value = tensorOf(op.getValue());
  if (!value)
    return op.emitOpError("has a value that the interpreter cannot read");
  if (precision == Precision::Wide && op.getType().getElementType().isF32()) {
    // Most have one number.
    double last = 0, fraction = fractionOf(last);
    for (double &number : value->floats) {
      if (number != last)
        fraction = fractionOf(last = number);
      number = fraction;
    }
  }
  known = fromTensor(*value);
  environment[op.getResult()] = known;
  return success();
}

LogicalResult Interpreter::Implementation::runFused(train::FusedOp op,
                                                    Environment &environment) {
  Block &block = op.getBody().front();
  Environment inner;
  for (auto [argument, input] :
       llvm::zip_equal(block.getArguments(), op.getInputs()))
    inner[argument] = environment.at(input);
  if (failed(runBlock(block, inner)))
    return failure();
  for (auto [result, value] :
       llvm::zip_equal(op.getResults(), block.getTerminator()->getOperands()))
    environment[result] = inner.at(value);
  return success();
}

LogicalResult Interpreter::Implementation::runOp(Operation &op,
                                                 Environment &environment) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](train::ConstantOp op) { return runConstant(op, environment); })
      .Case([&](train::FusedOp op) { return runFused(op, environment); })
      .Case([&](train::ReshapeOp op) {
        // A copy first: a new entry may move the others.
        Elements input = environment.at(op.getInput());
        environment[op.getResult()] = std::move(input);
        return success();
      })
      .Case(
          [&](LinalgFormOpInterface) { return runLinalgForm(op, environment); })
      .Default([](Operation *op) {
        return op->emitOpError("is not an op that the interpreter knows");
      });
}

LogicalResult Interpreter::Implementation::runBlock(Block &block,
                                                    Environment &environment) {
  for (Operation &op : block.without_terminator())
    if (failed(runOp(op, environment)))
      return failure();
  return success();
}

LogicalResult
Interpreter::Implementation::checkInputs(func::FuncOp func,
                                         ArrayRef<Tensor> inputs) const {
  if (!llvm::hasSingleElement(func.getBody()))
    return func.emitOpError("is not one block of ops");
  if (inputs.size() != func.getNumArguments())
    return func.emitOpError()
           << "has " << func.getNumArguments() << " arguments, but got "
           << inputs.size() << " tensors";
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (getReceived(func, index))
      continue;
    auto type = dyn_cast<RankedTensorType>(func.getArgument(index).getType());
    if (!type || !type.hasStaticShape())
      return func.emitOpError()
             << "argument " << index << " is no tensor of static shape";
    if (type.getShape() != ArrayRef<int64_t>(input.shape) ||
        isa<FloatType>(type.getElementType()) != input.isFloat())
      return func.emitOpError()
             << "argument " << index << " is " << type << ", but got "
             << (input.isFloat() ? "floats" : "integers") << " of shape ["
             << input.shape << "]";
  }
  return success();
}

FailureOr<Environment>
Interpreter::Implementation::bind(func::FuncOp func,
                                  ArrayRef<Tensor> inputs) const {
  if (func.isDeclaration())
    return func.emitOpError("has no body");
  if (failed(checkInputs(func, inputs)))
    return failure();
  Environment environment;
  for (auto [argument, input] :
       llvm::zip_equal(func.getBody().front().getArguments(), inputs))
    if (!getReceived(func, argument.getArgNumber()))
      environment[argument] = fromTensor(input);
  return environment;
}

std::vector<Tensor>
Interpreter::Implementation::collect(func::FuncOp func,
                                     const Environment &environment) const {
  std::vector<Tensor> results;
  for (Value value : func.getBody().front().getTerminator()->getOperands())
    results.push_back(toTensor(*environment.at(value), shapeOf(value.getType()),
                               getElementTypeOrSelf(value.getType())));
  return results;
}

FailureOr<std::vector<Tensor>>
Interpreter::Implementation::run(func::FuncOp func, ArrayRef<Tensor> inputs) {
  auto environment = bind(func, inputs);
  if (failed(environment))
    return failure();
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (failed(runOp(op, *environment)))
      return failure();
    // Nobody will read it any more.
    for (Value operand : op.getOperands())
      if (llvm::all_of(operand.getUsers(), [&](Operation *user) {
            return user == &op || (user->getBlock() == op.getBlock() &&
                                   user->isBeforeInBlock(&op));
          }))
        environment->erase(operand);
  }
  return collect(func, *environment);
}

//===----------------------------------------------------------------------===//
// Many ranks
//===----------------------------------------------------------------------===//

FailureOr<std::vector<std::vector<Tensor>>>
Interpreter::Implementation::runOnRanks(ArrayRef<func::FuncOp> programs,
                                        dist::MeshAttr mesh,
                                        ArrayRef<std::vector<Tensor>> inputs) {
  std::vector<Environment> ranks;
  for (auto [rank, parts] : llvm::enumerate(inputs)) {
    auto environment =
        bind(programs[roleOf(rank, programs.size(), mesh)], parts);
    if (failed(environment))
      return failure();
    ranks.push_back(std::move(*environment));
  }
  auto runOne = [&](Operation &op, Environment &environment) {
    return runOp(op, environment);
  };
  if (failed(Turns(programs, mesh, ranks, runOne).run()))
    return failure();
  std::vector<std::vector<Tensor>> results;
  for (auto [rank, environment] : llvm::enumerate(ranks))
    results.push_back(
        collect(programs[roleOf(rank, programs.size(), mesh)], environment));
  return results;
}

Interpreter::Interpreter(Precision precision)
    : implementation(std::make_unique<Implementation>(precision)) {}
Interpreter::~Interpreter() = default;

FailureOr<std::vector<Tensor>> Interpreter::run(func::FuncOp func,
                                                ArrayRef<Tensor> inputs) {
  return implementation->run(func, inputs);
}

FailureOr<std::vector<std::vector<Tensor>>>
Interpreter::runOnRanks(ArrayRef<func::FuncOp> programs, dist::MeshAttr mesh,
                        ArrayRef<std::vector<Tensor>> inputs) {
  return implementation->runOnRanks(programs, mesh, inputs);
}

FailureOr<std::vector<Tensor>> Interpreter::runOnBlock(Operation *op,
                                                       ArrayRef<Tensor> inputs,
                                                       Shapes resultShapes,
                                                       SharedPair shared) {
  return implementation->runOnBlock(op, inputs, resultShapes, shared);
}

} // namespace zc::interpreter
