//===- RandomTrainProgram.cpp - programs that nobody would write ----------===//
#include "test/unit/passes/Scheduling/RandomTrainProgram.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ProgramBuilder.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, std::mt19937 &random)
      : module(module), builder(module.getContext()), random(random),
        type(RankedTensorType::get({4, 16}, builder.getF32Type())),
        flat(RankedTensorType::get({64}, builder.getF32Type())),
        loc(builder.getUnknownLoc()) {
    builder.setInsertionPointToEnd(module.getBody());
  }

  func::FuncOp run() {
    numStates = below(5);
    unsigned numInputs = below(3);
    for (unsigned i = 0; i < numStates; ++i)
      addState(module, "s" + std::to_string(i), type, kParameter, loc);
    SmallVector<Type> arguments(numStates + numInputs, type);
    auto program = func::FuncOp::create(builder, loc, kStepProgram,
                                        builder.getFunctionType(arguments, {}));
    builder.setInsertionPointToStart(program.addEntryBlock());
    llvm::append_range(values, program.getArguments());
    for (unsigned i = 0; i < arguments.size(); ++i)
      bindArgument(program, i);
    for (unsigned i = below(25); i > 0; --i)
      if (!values.empty() && below(4) == 0)
        addCollective();
      else
        addFused();
    addReturn(program);
    return program;
  }

private:
  unsigned below(unsigned end) { return random() % end; }

  FlatSymbolRefAttr stateName(unsigned index) {
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  "s" + std::to_string(index));
  }

  void bindArgument(func::FuncOp program, unsigned index) {
    if (index < numStates)
      program.setArgAttr(index, kStateAttr, stateName(index));
    else
      program.setArgAttr(index, kInputAttr,
                         builder.getStringAttr("x" + std::to_string(index)));
  }

  Value pick() {
    // Recent values more often: chains are where ops work in place.
    unsigned recent = std::min<unsigned>(values.size(), below(2) ? 3 : 1000);
    Value value = values[values.size() - 1 - below(recent)];
    if (below(4))
      return value;
    Value view = ReshapeOp::create(builder, loc, flat, value);
    return ReshapeOp::create(builder, loc, type, view);
  }

  void addFused() {
    SmallVector<Value> operands;
    if (!values.empty())
      for (unsigned i = below(4); i > 0; --i)
        operands.push_back(pick());
    SmallVector<Type> results(1 + below(2), type);
    SmallVector<int64_t> shared;
    for (unsigned i = 0; i < operands.size(); ++i)
      for (unsigned j = 0; j < results.size(); ++j)
        if (below(2))
          shared.append({i, j});
    auto op = FusedOp::create(builder, loc, results, operands);
    op.setSharedBuffers(shared);
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&op.getBody());
    for (Value operand : operands)
      body->addArgument(operand.getType(), loc);
    auto number = static_cast<float>(below(6)); // equal kernels come up
    Value constant =
        ConstantOp::create(builder, loc, DenseElementsAttr::get(type, number));
    YieldOp::create(builder, loc, SmallVector<Value>(results.size(), constant));
    llvm::append_range(values, op.getResults());
  }

  void addCollective() {
    Value operand = pick();
    SmallVector<int64_t> shared;
    if (below(2))
      shared = {0, 0};
    auto op = FusedOp::create(builder, loc, TypeRange(type), operand);
    op.setLibrary(kCollectiveLibrary);
    op.setSharedBuffers(shared);
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&op.getBody());
    Value sum = dist::AllReduceOp::create(
        builder, loc, type, body->addArgument(type, loc),
        builder.getStrArrayAttr({"dp"}), builder.getStringAttr("gradients"),
        /*holders=*/nullptr);
    YieldOp::create(builder, loc, sum);
    llvm::append_range(values, op.getResults());
  }

  void addReturn(func::FuncOp program) {
    SmallVector<Value> returned;
    SmallVector<DictionaryAttr> attributes;
    auto add = [&](StringRef name, Attribute attribute) {
      returned.push_back(pick());
      attributes.push_back(
          builder.getDictionaryAttr(builder.getNamedAttr(name, attribute)));
    };
    for (unsigned i = 0; i < numStates; ++i)
      if (below(3))
        add(kStateAttr, stateName(i));
    if (!values.empty())
      for (unsigned i = below(4); i > 0; --i)
        add(kOutputAttr, builder.getStringAttr("y" + std::to_string(i)));
    program.setFunctionType(builder.getFunctionType(
        program.getArgumentTypes(), ValueRange(returned).getTypes()));
    for (auto [index, dictionary] : llvm::enumerate(attributes))
      program.setResultAttrs(index, dictionary);
    func::ReturnOp::create(builder, loc, returned);
  }

  ModuleOp module;
  OpBuilder builder;
  std::mt19937 &random;
  RankedTensorType type, flat;
  Location loc;
  SmallVector<Value> values;
  unsigned numStates = 0;
};

} // namespace

func::FuncOp buildRandomProgram(ModuleOp module, std::mt19937 &random) {
  return ProgramBuilder(module, random).run();
}

int64_t getFunctionNumber(Region &body) {
  auto constant = dyn_cast<ConstantOp>(body.front().front());
  if (!constant)
    return kCollectiveFunction;
  auto value = cast<DenseElementsAttr>(constant.getValue());
  return static_cast<int64_t>(value.getSplatValue<float>());
}

} // namespace zc
