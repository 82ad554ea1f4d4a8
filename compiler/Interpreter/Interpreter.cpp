//===- Interpreter.cpp - runs programs of the train dialect ---------------===//
#include "compiler/Interpreter/Interpreter.h"

#include "compiler/Interpreter/Bindings.h"
#include "compiler/Interpreter/ProgramCompiler.h"
#include "compiler/Interpreter/Turns.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Verifier.h"
#include "passes/Analysis/Messages.h"

#include <map>

using namespace mlir;

namespace zc::interpreter {

using Shapes = ArrayRef<SmallVector<int64_t>>;
using SharedPair = std::optional<std::pair<unsigned, unsigned>>;

static SmallVector<int64_t> shapeOf(Type type) {
  return SmallVector<int64_t>(cast<RankedTensorType>(type).getShape());
}

static Type elementOf(Type type) {
  return cast<RankedTensorType>(type).getElementType();
}

static Elements newElements(ArrayRef<int64_t> shape) {
  return std::make_shared<std::vector<Slot>>(ShapedType::getNumElements(shape));
}

static void bindView(View &view, std::vector<Slot> &elements,
                     ArrayRef<int64_t> shape) {
  view.base = view.data = elements.data();
  view.sizes.assign(shape.begin(), shape.end());
  view.strides.assign(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    view.strides[dim - 1] = view.strides[dim] * shape[dim];
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

  FailureOr<std::unique_ptr<Program>> compileOp(Operation *op, Shapes operands,
                                                Shapes results,
                                                SharedPair shared) const;

  FailureOr<Program *> programOf(Operation &op, Shapes operands,
                                 Shapes results);

  Precision precision;
  DenseMap<Operation *, Program *> programs;
  /// Layers are alike: each kind of op is compiled once.
  std::map<std::vector<const void *>, std::unique_ptr<Program>> kinds;
};

/// Ops of one key compute the same; of one with a region there is no other.
static std::vector<const void *> kindOf(Operation &op) {
  std::vector<const void *> key = {op.getName().getAsOpaquePointer(),
                                   op.getAttrDictionary().getAsOpaquePointer()};
  if (op.getNumRegions() > 0)
    key.push_back(&op);
  for (Type type : op.getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Type type : op.getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  return key;
}

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

/// A function around the op's linalg form: memrefs of the operands, then of the
/// results, but for the one that is shared.
static func::FuncOp buildKernel(OpBuilder &builder, Operation *op,
                                Shapes operands, Shapes results,
                                SharedPair shared) {
  auto typesOf = [&](TypeRange types, Shapes shapes) {
    SmallVector<Type> memrefs;
    for (auto [type, shape] : llvm::zip_equal(types, shapes))
      memrefs.push_back(MemRefType::get(shape, elementOf(type)));
    return memrefs;
  };
  SmallVector<Type> arguments = typesOf(op->getOperandTypes(), operands);
  llvm::append_range(arguments, typesOf(op->getResultTypes(), results));
  auto func =
      func::FuncOp::create(builder, op->getLoc(), "kernel",
                           builder.getFunctionType(arguments, TypeRange()));
  Block *block = func.addEntryBlock();
  SmallVector<Value> outputs(block->getArguments().drop_front(operands.size()));
  if (shared)
    outputs[shared->second] = block->getArgument(shared->first);
  builder.setInsertionPointToStart(block);
  train::buildLinalgForm(op, builder, op->getLoc(),
                         block->getArguments().take_front(operands.size()),
                         outputs);
  func::ReturnOp::create(builder, op->getLoc());
  return func;
}

FailureOr<std::unique_ptr<Program>> Interpreter::Implementation::compileOp(
    Operation *op, Shapes operands, Shapes results, SharedPair shared) const {
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  func::FuncOp kernel = buildKernel(builder, op, operands, results, shared);
  if (failed(mlir::verify(*module)))
    return failure();
  return compile(kernel, precision);
}

FailureOr<Program *> Interpreter::Implementation::programOf(Operation &op,
                                                            Shapes operands,
                                                            Shapes results) {
  Program *&program = programs[&op];
  if (program)
    return program;
  std::unique_ptr<Program> &kind = kinds[kindOf(op)];
  if (!kind) {
    auto compiled = compileOp(&op, operands, results, std::nullopt);
    if (failed(compiled))
      return failure();
    kind = std::move(*compiled);
  }
  return program = kind.get();
}

LogicalResult
Interpreter::Implementation::runLinalgForm(Operation &op,
                                           Environment &environment) {
  auto shapesOf = [](TypeRange types) {
    return llvm::map_to_vector(types, [](Type type) { return shapeOf(type); });
  };
  auto operands = shapesOf(op.getOperandTypes());
  auto results = shapesOf(op.getResultTypes());
  auto found = programOf(op, operands, results);
  if (failed(found))
    return failure();
  Program *program = *found;
  unsigned view = 0;
  for (auto [operand, shape] : llvm::zip_equal(op.getOperands(), operands))
    bindView(program->frame.views[view++], *environment.at(operand), shape);
  for (auto [result, shape] : llvm::zip_equal(op.getResults(), results)) {
    Elements elements = newElements(shape);
    bindView(program->frame.views[view++], *elements, shape);
    environment[result] = std::move(elements);
  }
  execute(program->code, program->frame);
  if (std::exchange(program->frame.leftView, false))
    return op.emitOpError("reads or writes beyond the end of a tensor");
  return success();
}

FailureOr<std::vector<Tensor>>
Interpreter::Implementation::runOnBlock(Operation *op, ArrayRef<Tensor> inputs,
                                        Shapes resultShapes,
                                        SharedPair shared) {
  SmallVector<SmallVector<int64_t>> operandShapes;
  for (const Tensor &input : inputs)
    operandShapes.push_back(input.shape);
  auto program = compileOp(op, operandShapes, resultShapes, shared);
  if (failed(program))
    return failure();
  std::vector<Elements> buffers;
  for (const Tensor &input : inputs)
    buffers.push_back(fromTensor(input));
  for (ArrayRef<int64_t> shape : resultShapes)
    buffers.push_back(newElements(shape));
  if (shared)
    buffers[inputs.size() + shared->second] = buffers[shared->first];
  for (auto [index, buffer] : llvm::enumerate(buffers))
    bindView((*program)->frame.views[index], *buffer,
             index < inputs.size() ? operandShapes[index]
                                   : resultShapes[index - inputs.size()]);
  execute((*program)->code, (*program)->frame);
  std::vector<Tensor> results;
  for (auto [index, shape] : llvm::enumerate(resultShapes))
    results.push_back(toTensor(*buffers[inputs.size() + index], shape,
                               elementOf(op->getResult(index).getType())));
  return results;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

LogicalResult
Interpreter::Implementation::runConstant(train::ConstantOp op,
                                         Environment &environment) {
  std::optional<Tensor> value = tensorOf(op.getValue());
  if (!value)
    return op.emitOpError("has a value that the interpreter cannot read");
  environment[op.getResult()] = fromTensor(*value);
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
                               elementOf(value.getType())));
  return results;
}

FailureOr<std::vector<Tensor>>
Interpreter::Implementation::run(func::FuncOp func, ArrayRef<Tensor> inputs) {
  auto environment = bind(func, inputs);
  if (failed(environment) ||
      failed(runBlock(func.getBody().front(), *environment)))
    return failure();
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
