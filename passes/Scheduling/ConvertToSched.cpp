//===- ConvertToSched.cpp - --zc-convert-to-sched -------------------------===//
//
// The last step down the ladder: values become buffers, and what may share
// memory is decided once and written into the instructions.
//
//===----------------------------------------------------------------------===//
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/ProgramConverter.h"
#include "passes/Scheduling/TrainProgram.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_CONVERTTOSCHEDPASS
#include "passes/Scheduling/Passes.h.inc"

static LogicalResult checkState(func::FuncOp program, FlatSymbolRefAttr state,
                                Type type, SymbolTable &symbols,
                                const Twine &what) {
  auto op = symbols.lookup<StateOp>(state.getValue());
  if (!op)
    return program.emitOpError()
           << what << " is bound to " << state << ", which is no train.state";
  if (op.getTensorType() != type)
    return program.emitOpError() << what << " is " << type << " but state "
                                 << state << " is " << op.getTensorType();
  return success();
}

static LogicalResult checkArguments(func::FuncOp program,
                                    SymbolTable &symbols) {
  llvm::DenseSet<Attribute> seen;
  for (BlockArgument argument : program.getArguments()) {
    unsigned index = argument.getArgNumber();
    FlatSymbolRefAttr state = getArgumentState(argument);
    if (state) {
      if (failed(checkState(program, state, argument.getType(), symbols,
                            "argument " + Twine(index))))
        return failure();
      if (!seen.insert(state).second)
        return program.emitOpError() << "has two arguments for " << state;
    } else if (!program.getArgAttrOfType<StringAttr>(index, kInputAttr)) {
      return program.emitOpError() << "argument " << index
                                   << " has neither train.state nor "
                                      "train.input";
    }
  }
  return success();
}

static LogicalResult checkResults(func::FuncOp program, SymbolTable &symbols) {
  llvm::DenseSet<Attribute> seen;
  for (auto [index, type] : llvm::enumerate(program.getResultTypes())) {
    FlatSymbolRefAttr state = getResultState(program, index);
    if (state) {
      if (failed(checkState(program, state, type, symbols,
                            "result " + Twine(index))))
        return failure();
      if (!seen.insert(state).second)
        return program.emitOpError() << "has two results for " << state;
    } else if (!program.getResultAttrOfType<StringAttr>(index, kOutputAttr) &&
               !program.getResultAttrOfType<StringAttr>(index, kMetricAttr)) {
      return program.emitOpError()
             << "result " << index
             << " has none of train.state, train.output and train.metric";
    }
  }
  return success();
}

// Whether the region yields its op's results, as many as it needs, in order.
static bool yieldsFirstResults(Block &body) {
  auto yielded = body.getTerminator()->getOperands();
  auto results = body.front().getResults();
  return !yielded.empty() && yielded.size() <= results.size() &&
         llvm::equal(yielded, results.take_front(yielded.size()));
}

// One op on the region's arguments, or a product and its epilogue: anything
// else no library computes.
static LogicalResult checkLibraryCalls(func::FuncOp program) {
  for (FusedOp op : program.getOps<FusedOp>()) {
    if (!op.getLibrary() || op.getJoined())
      continue;
    Block &body = op.getBody().front();
    if (!llvm::hasSingleElement(body.without_terminator()) ||
        !llvm::all_of(body.front().getOperands(),
                      llvm::IsaPred<BlockArgument>) ||
        !yieldsFirstResults(body))
      return op.emitOpError() << "calls library '" << *op.getLibrary()
                              << "', so its body must be one op on its "
                                 "arguments whose first results it yields";
  }
  return success();
}

static LogicalResult check(func::FuncOp program, SymbolTable &symbols) {
  if (program.isExternal())
    return program.emitOpError("has no body");
  if (failed(checkProgram(program)) ||
      failed(checkArguments(program, symbols)) ||
      failed(checkResults(program, symbols)))
    return failure();
  return checkLibraryCalls(program);
}

namespace {

struct ConvertToSchedPass : impl::ConvertToSchedPassBase<ConvertToSchedPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto programs = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp program : programs)
      if (failed(check(program, symbols)))
        return signalPassFailure();
    KernelTable kernels(module);
    for (func::FuncOp program : programs) {
      sched::ProgramOp converted = ProgramConverter(program, kernels).convert();
      program.erase();
      converted.walk([&](sched::LaunchOp) { ++numLaunches; });
      converted.walk([&](sched::CopyOp) { ++numCopies; });
    }
    numKernels += kernels.size();
  }
};

} // namespace
} // namespace zc
