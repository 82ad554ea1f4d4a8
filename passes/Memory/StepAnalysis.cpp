//===- StepAnalysis.cpp - forward and backward of a program ---------------===//
#include "passes/Memory/StepAnalysis.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/LoopNests.h"
#include "passes/Analysis/Views.h"
#include "passes/Memory/JoinTurns.h"
#include "passes/Scheduling/TrainProgram.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

func::FuncOp findStep(ModuleOp module) {
  for (StringRef name : {kStepProgram, kMicroProgram})
    if (auto program = module.lookupSymbol<func::FuncOp>(name))
      return program;
  return nullptr;
}

StepAnalysis::StepAnalysis(func::FuncOp program) : program(program) {
  findForward();
  findBackward();
  findSaved();
  findGathersAgain();
}

void StepAnalysis::findForward() {
  inForward = findForwardOps(program);
  for (FusedOp op : program.getOps<FusedOp>()) {
    if (!isForward(op))
      continue;
    places[op] = forward.size();
    forward.push_back(op);
    for (Value result : op.getResults()) {
      indices[result] = values.size();
      values.push_back(result);
    }
  }
}

void StepAnalysis::findBackward() {
  DenseSet<Operation *> ancestors = findAncestors(findGradientOps(program));
  for (FusedOp op : program.getOps<FusedOp>())
    if (ancestors.contains(op) && !isForward(op))
      backward.push_back(op);
}

void StepAnalysis::findSaved() {
  saved.resize(numValues());
  for (FusedOp op : backward)
    for (Value operand : op.getInputs())
      if (auto found = indices.find(getTensorRoot(operand));
          found != indices.end())
        saved.set(found->second);
  lastReaders.assign(numValues(), 0);
  for (auto [place, op] : llvm::enumerate(forward))
    for (Value operand : op.getInputs())
      if (auto found = indices.find(getTensorRoot(operand));
          found != indices.end())
        lastReaders[found->second] = place;
}

/// The gather that makes all of the result; null for other ops.
static dist::AllGatherOp getGather(FusedOp op) {
  if (op.getInputs().size() != 1 || op.getNumResults() != 1)
    return nullptr;
  return dyn_cast<dist::AllGatherOp>(op.getBody().front().front());
}

/// Whether both gather the same, if for another pass.
static bool gatherTheSame(FusedOp op, FusedOp other) {
  auto own = getGather(op), theirs = getGather(other);
  if (!own || !theirs || op.getInputs() != other.getInputs() ||
      op.getResultTypes() != other.getResultTypes())
    return false;
  NamedAttrList attributes(own->getAttrs()), others(theirs->getAttrs());
  attributes.erase(dist::kPassAttr);
  others.erase(dist::kPassAttr);
  return attributes == others;
}

void StepAnalysis::findGathersAgain() {
  gatheredAgain.resize(numValues());
  for (FusedOp op : forward) {
    if (!getGather(op) || op.getInputs()[0].getDefiningOp())
      continue;
    for (Operation *user : op.getInputs()[0].getUsers())
      if (auto other = dyn_cast<FusedOp>(user);
          other && !isForward(other) && gatherTheSame(op, other)) {
        gathersAgain[op] = other;
        gatheredAgain.set(getIndex(op.getResult(0)));
      }
  }
}

llvm::BitVector StepAnalysis::getCrossing(unsigned count) const {
  llvm::BitVector crossing(numValues());
  for (unsigned index = 0; index < numValues(); ++index)
    if (getPlace(index) < count && getLastReader(index) >= count)
      crossing.set(index);
  return crossing;
}

//===----------------------------------------------------------------------===//
// Costs of a plan
//===----------------------------------------------------------------------===//

/// `again`: the forward ops that run again, by place; `read`: the saved
/// activations that they or the backward read.
void StepAnalysis::walkBackward(const llvm::BitVector &kept,
                                llvm::BitVector &again,
                                llvm::BitVector &read) const {
  again.resize(forward.size());
  read.resize(numValues());
  SmallVector<Value> needed;
  auto isKept = [&](Value value) {
    auto found = indices.find(value);
    return found != indices.end() && kept.test(found->second);
  };
  auto need = [&](FusedOp op) {
    if (std::optional<Turn> turn = joinTurns(op, isKept); turn && isForward(op))
      return needed.push_back(getTensorRoot(turn->begin));
    for (Value operand : op.getInputs())
      needed.push_back(getTensorRoot(operand));
  };
  for (FusedOp op : backward)
    need(op);
  while (!needed.empty()) {
    auto found = indices.find(needed.pop_back_val());
    if (found == indices.end())
      continue;
    if (kept.test(found->second)) {
      read.set(found->second);
      continue;
    }
    unsigned place = getPlace(found->second);
    if (again.test(place))
      continue;
    again.set(place);
    need(forward[place]);
  }
}

llvm::BitVector StepAnalysis::getRecomputed(const llvm::BitVector &kept) const {
  llvm::BitVector again, read;
  walkBackward(kept, again, read);
  return again;
}

llvm::BitVector StepAnalysis::getReadAgain(const llvm::BitVector &kept) const {
  llvm::BitVector again, read;
  walkBackward(kept, again, read);
  return read;
}

//===----------------------------------------------------------------------===//
// In place or not
//===----------------------------------------------------------------------===//

static bool mayWorkInPlace(FusedOp op) {
  return !op.getSharedBuffers().empty() &&
         !isSingleLoopNest(op.getBody().front());
}

/// The ops that read `root` or a view of it.
static void collectReaders(Value root, DenseSet<Operation *> &readers) {
  for (Operation *user : root.getUsers())
    if (getViewed(user))
      collectReaders(user->getResult(0), readers);
    else
      readers.insert(user);
}

void fixSharedBuffers(func::FuncOp program) {
  StepAnalysis analysis(program);
  for (FusedOp op : analysis.getForward()) {
    if (!mayWorkInPlace(op))
      continue;
    SmallVector<int64_t> pairs;
    ArrayRef<int64_t> old = op.getSharedBuffers();
    for (size_t i = 0; i + 1 < old.size(); i += 2) {
      DenseSet<Operation *> readers;
      collectReaders(getTensorRoot(op.getInputs()[old[i]]), readers);
      if (readers.size() == 1)
        pairs.append({old[i], old[i + 1]});
    }
    op.setSharedBuffers(pairs);
  }
}

/// Whether `op` works in place over a value that the plan keeps.
bool StepAnalysis::isPinned(FusedOp op, const llvm::BitVector &kept) const {
  if (!mayWorkInPlace(op))
    return false;
  ArrayRef<int64_t> pairs = op.getSharedBuffers();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (auto found = indices.find(getTensorRoot(op.getInputs()[pairs[i]]));
        found != indices.end() && kept.test(found->second))
      return true;
  return false;
}

void StepAnalysis::keepResults(unsigned place, llvm::BitVector &kept) const {
  for (Value result : forward[place]->getResults())
    kept.set(getIndex(result));
}

void StepAnalysis::settle(llvm::BitVector &kept) const {
  const llvm::BitVector recomputed = getRecomputed(kept);
  for (unsigned place : recomputed.set_bits())
    if (FusedOp(forward[place]).getOfOtherRanks())
      keepResults(place, kept);
  for (bool changed = true; changed;) {
    changed = false;
    llvm::BitVector again = getRecomputed(kept);
    for (unsigned place : again.set_bits()) {
      if (!isPinned(forward[place], kept))
        continue;
      keepResults(place, kept);
      changed = true;
    }
  }
}

} // namespace zc
