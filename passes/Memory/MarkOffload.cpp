//===- MarkOffload.cpp - what lies in the second memory -------------------===//
#include "passes/Memory/MarkOffload.h"

#include "dialects/Sched/SchedDialect.h"
#include "passes/Memory/StepAnalysis.h"
#include "passes/Scheduling/TrainProgram.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

// A copy of less costs more time than the room is worth.
static constexpr int64_t kFewestBytes = 4096;

static bool isLarge(Type type) {
  return sched::getByteSize(cast<ShapedType>(type)) >= kFewestBytes;
}

std::optional<OffloadChoice> parseOffload(StringRef text) {
  OffloadChoice choice;
  SmallVector<StringRef> words;
  text.split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/!text.empty());
  for (StringRef word : words) {
    bool *flag = word == "optimizer"     ? &choice.optimizer
                 : word == "parameters"  ? &choice.parameters
                 : word == "activations" ? &choice.activations
                                         : nullptr;
    if (!flag)
      return std::nullopt;
    *flag = true;
  }
  return choice;
}

static void markStates(ModuleOp module, const OffloadChoice &choice) {
  bool hasCopies = llvm::any_of(module.getOps<StateOp>(), [](StateOp state) {
    return state.getKind() == kCopy;
  });
  for (StateOp state : module.getOps<StateOp>()) {
    StringRef kind = state.getKind();
    bool isOptimizer = kind == kOptimizer || (hasCopies && kind == kParameter);
    bool isParameter = kind == (hasCopies ? kCopy : kParameter);
    if (((choice.optimizer && isOptimizer) ||
         (choice.parameters && isParameter)) &&
        isLarge(state.getTensorType()))
      state->setAttr(sched::kOffloadedAttr, UnitAttr::get(module.getContext()));
  }
}

static void markActivations(func::FuncOp step) {
  StepAnalysis analysis(step);
  llvm::MapVector<Operation *, SmallVector<int64_t>> results;
  for (unsigned index : analysis.getSaved().set_bits()) {
    auto value = cast<OpResult>(analysis.getValue(index));
    if (isLarge(value.getType()))
      results[value.getOwner()].push_back(value.getResultNumber());
  }
  for (auto &[op, numbers] : results)
    op->setAttr(kOffloadedResultsAttr,
                DenseI64ArrayAttr::get(step.getContext(), numbers));
}

void markOffload(ModuleOp module, const OffloadChoice &choice) {
  if (choice.optimizer || choice.parameters)
    markStates(module, choice);
  func::FuncOp step = findStep(module);
  if (choice.activations && step)
    markActivations(step);
}

} // namespace zc
