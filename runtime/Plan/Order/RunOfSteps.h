// The actions of roles in the steps of a run. With a flush each step is
// complete by itself; without, roles begin micro-batches of later steps before
// the end of one, and a run of steps has a beginning and an end.
#ifndef ZC_RUNTIME_PLAN_ORDER_RUNOFSTEPS_H
#define ZC_RUNTIME_PLAN_ORDER_RUNOFSTEPS_H

#include "runtime/Plan/Order/RoleUse.h"

namespace zc {

/// How many steps behind the one at hand a role begins micro-batches of; the
/// most of all roles. 0: steps are complete by themselves.
uint32_t stepsAhead(const plan::Manifest &manifest);

/// Whether steps may overlap: a role has a prologue, or rings that take turns.
bool overlapsSteps(const plan::Manifest &manifest);

/// Whether what the functions below rely on is sound: the indices of programs,
/// messages and slots in the orders of steps. Fails with Corrupt.
Status verifyRunIndices(const plan::Manifest &manifest,
                        const std::vector<RoleUse> &uses);

/// The slot that an order's slot of a ring is in a step whose first micro-batch
/// is number `first` of all steps.
uint32_t slotOfStep(const plan::Ring &ring, uint32_t slot, int64_t first);

/// After how many steps their slots come round.
uint32_t turnsOf(const plan::Role &role, uint32_t microBatches);

/// Where a step is in a run of steps.
struct StepPlace {
  int64_t step = 0;    // from 0
  int64_t left = 1;    // steps of the run from here on, this one included
  bool isFirst = true; // of the run
};

/// A role's actions in a step of `microBatches`. Micro-batches are numbered
/// from the step's first on; those of later steps follow. Slots are those that
/// the step has.
plan::Order orderOfStep(const plan::Role &role, const RoleUse &use,
                        uint32_t microBatches, const StepPlace &place);

/// The manifest of which one step is a run of `steps` steps: with as many
/// micro-batches, and calls of "apply" in between. Its indices are sound.
Result<plan::Manifest> unroll(const plan::Manifest &manifest, uint32_t steps);

/// The inverse, of a role: its prologue and the order of one step, of which
/// `unrolled` is a run of at least four steps more than roles run ahead. The
/// role's rings are as they will be. False where steps in the midst of it
/// differ.
bool foldRole(plan::Role &role, const RoleUse &use, const plan::Order &unrolled,
              uint32_t microBatches);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_RUNOFSTEPS_H
