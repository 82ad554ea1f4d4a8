//===- PrefetchLoads.cpp - memory that loops read is asked for early ------===//
#include "passes/Codegen/PrefetchLoads.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace zc {
namespace {

// Instructions of a body that fill a seventh of the window that a processor
// looks ahead by; bytes that hide the latency of memory at a page's begin.
constexpr size_t kLongBody = 32;
constexpr int64_t kAhead = 2048;
// The largest step of an iteration: beyond it, lines are read in part.
constexpr int64_t kLargestStep = 512;

/// The loads of a loop whose addresses grow by a constant, one of each line.
class LoopLoads {
public:
  LoopLoads(Loop &loop, ScalarEvolution &evolution)
      : loop(loop), evolution(evolution) {}

  SmallVector<LoadInst *> find() {
    SmallVector<LoadInst *> found;
    for (Instruction &instruction : *loop.getHeader())
      if (auto *load = dyn_cast<LoadInst>(&instruction))
        if (load->isSimple() && streams(*load) && isNew(*load))
          found.push_back(load);
    return found;
  }

private:
  bool streams(LoadInst &load) {
    const SCEV *address = evolution.getSCEV(load.getPointerOperand());
    auto *sequence = dyn_cast<SCEVAddRecExpr>(address);
    if (!sequence || sequence->getLoop() != &loop)
      return false;
    auto *step = dyn_cast<SCEVConstant>(sequence->getStepRecurrence(evolution));
    if (!step)
      return false;
    int64_t bytes = step->getAPInt().getSExtValue();
    return bytes > 0 && bytes <= kLargestStep;
  }

  /// Whether no load before it reads the line.
  bool isNew(LoadInst &load) {
    const SCEV *address = evolution.getSCEV(load.getPointerOperand());
    for (const SCEV *other : addresses) {
      auto *distance =
          dyn_cast<SCEVConstant>(evolution.getMinusSCEV(address, other));
      if (distance && distance->getAPInt().abs().ult(64))
        return false;
    }
    addresses.push_back(address);
    return true;
  }

  Loop &loop;
  ScalarEvolution &evolution;
  SmallVector<const SCEV *> addresses;
};

void prefetchIn(Loop &loop, ScalarEvolution &evolution) {
  BasicBlock *body = loop.getHeader();
  if (loop.getNumBlocks() != 1 || body->size() < kLongBody)
    return;
  for (LoadInst *load : LoopLoads(loop, evolution).find()) {
    IRBuilder<> builder(load);
    Value *ahead = builder.CreateConstGEP1_64(
        builder.getInt8Ty(), load->getPointerOperand(), kAhead);
    builder.CreateIntrinsic(
        Intrinsic::prefetch, {ahead->getType()},
        {ahead, builder.getInt32(0), builder.getInt32(3), builder.getInt32(1)});
  }
}

} // namespace

void prefetchLoads(Module &module, TargetMachine &machine) {
  FunctionAnalysisManager functions;
  PassBuilder(&machine).registerFunctionAnalyses(functions);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    auto &evolution = functions.getResult<ScalarEvolutionAnalysis>(function);
    for (Loop *loop :
         functions.getResult<LoopAnalysis>(function).getLoopsInPreorder())
      if (loop->isInnermost())
        prefetchIn(*loop, evolution);
  }
}

} // namespace zc
