//===- MarkOffload.cpp - what lies in the second memory -------------------===//
#include "passes/Memory/MarkOffload.h"

#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Float8Ops.h"
#include "passes/Memory/StepAnalysis.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/TrainProgram.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

// A copy of less costs more time than the room is worth.
static constexpr int64_t kFewestOffloadedBytes = 4096;

static bool isLarge(Type type) {
  return sched::getByteSize(cast<ShapedType>(type)) >= kFewestOffloadedBytes;
}

std::optional<OffloadChoice> parseOffload(StringRef text) {
  OffloadChoice choice;
  SmallVector<StringRef> words;
  text.split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/!text.empty());
  for (StringRef word : words) {
    bool *flag = word == "optimizer"     ? &choice.optimizer
                 : word == "parameters"  ? &choice.parameters
                 : word == "activations" ? &choice.activations
                 : word == "update"      ? &choice.update
                                         : nullptr;
    if (!flag)
      return std::nullopt;
    *flag = true;
  }
  choice.optimizer |= choice.update;
  return choice;
}

namespace {
/// A kind of tensors, and its word on the command line.
struct OffloadKind {
  StringRef word;
  bool OffloadChoice::*flag;
};
constexpr OffloadKind kOffloadKinds[] = {
    {"optimizer", &OffloadChoice::optimizer},
    {"parameters", &OffloadChoice::parameters},
    {"activations", &OffloadChoice::activations}};
} // namespace

std::vector<OffloadChoice> listParts(const OffloadChoice &whole) {
  std::vector<OffloadChoice> parts = {whole};
  for (const OffloadKind &kind : kOffloadKinds) {
    const bool mayLeave =
        whole.*kind.flag && (!whole.update || kind.word != "optimizer");
    for (size_t i = 0, end = mayLeave ? parts.size() : 0; i < end; ++i) {
      OffloadChoice fewer = parts[i];
      fewer.*kind.flag = false;
      parts.push_back(std::move(fewer));
    }
  }
  parts.erase(parts.begin()); // `whole`
  return parts;
}

std::string printLeftOut(const OffloadChoice &whole,
                         const OffloadChoice &part) {
  SmallVector<StringRef> words;
  for (const OffloadKind &kind : kOffloadKinds)
    if (whole.*kind.flag && !(part.*kind.flag))
      words.push_back(kind.word);
  return llvm::join(words, " and ");
}

/// Calls `body(state, isOptimizer)` for every state that may be offloaded. A
/// history that each forward reads stays where it is.
static void
forEachState(ModuleOp module,
             llvm::function_ref<void(StateOp state, bool isOptimizer)> body) {
  const StateKind weights = getWeightKind(module);
  for (StateOp state : module.getOps<StateOp>()) {
    const StateKind kind = state.getKind();
    bool isOptimizer = (kind == kOptimizer && !isAmaxHistory(state)) ||
                       (kind == kParameter && weights != kParameter);
    bool isParameter = kind == weights;
    if ((isOptimizer || isParameter) && isLarge(state.getTensorType()))
      body(state, isOptimizer);
  }
}

OffloadableBytes countOffloadable(ModuleOp module) {
  OffloadableBytes bytes;
  forEachState(module, [&](StateOp state, bool isOptimizer) {
    (isOptimizer ? bytes.optimizer : bytes.parameters) +=
        sched::getByteSize(state.getTensorType());
  });
  return bytes;
}

bool isWorthOffloading(Value value) { return isLarge(value.getType()); }

static void markActivations(func::FuncOp step, const OffloadChoice &choice) {
  StepAnalysis analysis(step);
  llvm::BitVector chosen = analysis.getSaved();
  if (!choice.activations)
    chosen &= choice.values;
  llvm::MapVector<Operation *, SmallVector<int64_t>> results;
  for (unsigned index : chosen.set_bits()) {
    auto value = cast<OpResult>(analysis.getValue(index));
    if (isWorthOffloading(value))
      results[value.getOwner()].push_back(value.getResultNumber());
  }
  for (auto &[op, numbers] : results)
    cast<FusedOp>(op).setOffloaded(numbers);
}

/// Sums over micro-batches of what the host updates with: float32, 4 bytes a
/// parameter that the device does not keep.
static void addUpOnHost(ModuleOp module) {
  for (StateOp state : module.getOps<StateOp>())
    if (state.getKind() == kAccumulator && isLarge(state.getTensorType())) {
      state.setOffloaded(true);
      state.setHostUpdate(true);
    }
}

void markOffload(ModuleOp module, const OffloadChoice &choice) {
  forEachState(module, [&](StateOp state, bool isOptimizer) {
    if (isOptimizer ? choice.optimizer : choice.parameters)
      state.setOffloaded(true);
    if (isOptimizer && choice.update)
      state.setHostUpdate(true);
  });
  if (choice.update)
    addUpOnHost(module);
  if (choice.parameters && choice.keepsBusy)
    module->setAttr(kKeepsBusyAttr, UnitAttr::get(module.getContext()));
  func::FuncOp step = findStep(module);
  if (step && (choice.activations || choice.values.any()))
    markActivations(step, choice);
}

} // namespace zc
