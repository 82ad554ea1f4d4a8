//===- Copies.cpp - narrow copies follow their parameters -----------------===//
#include "compiler/Interpreter/Copies.h"

#include "compiler/Interpreter/Ranks.h"
#include "dialects/Train/TrainDialect.h"

using namespace mlir;

namespace zc::interpreter {

FailureOr<NamedTensors> makeCopies(Interpreter &interpreter, ModuleOp module,
                                   const llvm::StringMap<Tensor> &values) {
  auto programs = findPrograms(module, train::kCopyProgram);
  if (failed(programs))
    return failure();
  return bindAndRun(interpreter, *programs, values);
}

LogicalResult checkCopies(Interpreter &interpreter, ModuleOp module,
                          const llvm::StringMap<Tensor> &values) {
  auto fresh = makeCopies(interpreter, module, values);
  if (failed(fresh))
    return failure();
  for (const auto &[name, tensor] : *fresh) {
    auto held = values.find(name);
    if (held == values.end() || !areAlike(held->second, tensor))
      return module.emitError("'") << name << kStaleCopy;
  }
  return success();
}

} // namespace zc::interpreter
