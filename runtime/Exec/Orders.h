// The orders of a role, and the programs and slots that they need.
#ifndef ZC_RUNTIME_EXEC_ORDERS_H
#define ZC_RUNTIME_EXEC_ORDERS_H

#include "runtime/Plan/Artifact.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

/// For each ring of a role the slot that a call works on; shorter: 0 from there
/// on. Empty for a program with no buffers in flight.
using Slots = std::vector<uint32_t>;

/// The orders of an artifact's role.
struct Orders {
  plan::Order train, late, eval; // without actions where there is none
  int64_t lastStep = 0;          // behind it comes `late`; 0: never
  plan::Order prologue = {};     // of a run of steps; empty with a flush
  uint32_t microBatches = 1;     // of a step, of all replicas of a stage
  uint32_t evaluated = 1;        // micro-batches of `eval`
  uint32_t stepsAhead = 0; // how far roles run ahead of a step's end, at most
  uint32_t turns = 1;      // steps until slots come round

  /// The order of step `step`, counted from 1.
  const plan::Order &ofStep(int64_t step) const {
    return lastStep > 0 && step > lastStep ? late : train;
  }
};

/// The orders of the artifact's role.
Orders ordersOf(const Artifact &artifact);

/// The programs that an order calls, each once.
std::vector<const plan::Program *> programsOf(const plan::Role &role,
                                              const plan::Order &order);
std::vector<std::string> programNamesOf(const plan::Role &role,
                                        const plan::Order &order);

/// The program that an order calls last, which reports what the step has come
/// to; null: it calls none.
const plan::Program *lastProgramOf(const plan::Role &role,
                                   const plan::Order &order);

/// A program of an evaluation, and the role that runs it.
struct EvaluationProgram {
  int role;
  const plan::Program *program;
};
/// The programs of all roles, role by role; they live as long as the artifact.
std::vector<EvaluationProgram> evaluationOf(const Artifact &artifact);

/// The last micro-batch that an order works on, and 1; at least 1.
uint32_t microBatchesOf(const plan::Order &order);

/// The rings that the program has buffers in, ascending.
std::vector<uint32_t> ringsOf(const plan::Program &program);
/// The rings of the program's inputs.
std::vector<uint32_t> ringsOfInputs(const plan::Program &program);

/// The slots of a call or a feed that matter to the program: others are 0.
Slots slotsOf(const plan::Program &program,
              const google::protobuf::RepeatedField<uint32_t> &slots);

/// `slots`, but 0 for every ring that is not listed.
Slots onlyOf(const std::vector<uint32_t> &rings, const Slots &slots);

/// All slots that the orders call the program with, each once. A program
/// without buffers in flight has one, empty.
std::vector<Slots> slotsOfCalls(const plan::Role &role, const Orders &orders,
                                const plan::Program &program);

} // namespace zc

#endif // ZC_RUNTIME_EXEC_ORDERS_H
