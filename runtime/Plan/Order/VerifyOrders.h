// One check of all roles' orders, for the compiler, which makes them, and for
// the runtime, which trusts no file: orders that pass it end, whatever the
// timing, and no action sees another micro-batch's data.
#ifndef ZC_RUNTIME_PLAN_ORDER_VERIFYORDERS_H
#define ZC_RUNTIME_PLAN_ORDER_VERIFYORDERS_H

#include "runtime/Plan/Order/RoleUse.h"

namespace zc {

/// Checks the roles' rings, messages and orders against each other:
///
///   - Every index is in range; rings lie in the flight space, messages and the
///     programs' buffers in slots. Rings of one phase do not overlap.
///   - A slot belongs to one micro-batch from the first action that uses it to
///     the last. A call reads slots that were received or written, and messages
///     are sent from slots that were written.
///   - Forward, backward and weights of every micro-batch come once, each in
///     the order of the micro-batches, and then the step's end. Every message
///     is moved once per micro-batch.
///   - Both ends of a message agree, and both ends of a line have one sequence.
///   - Nothing waits in a circle even where nothing is buffered.
///   - Where steps overlap, all of this holds in a run of them, however long;
///     backward and forward of a micro-batch read one version of parameters.
///
/// Fails with Corrupt, naming the role, the action and the message. Reads only
/// names, inputs and buffers of programs, and trusts none of them.
Status verifyOrders(const plan::Manifest &manifest);

/// The micro-batches of a step.
uint32_t microBatchesOf(const plan::Manifest &manifest);
/// The same of one order of evaluation, as role 0 has it: a call for each.
uint32_t evaluatedAtOnce(const plan::Manifest &manifest);

/// Parts of verifyOrders. The first looks at one role alone; the second needs
/// it, and looks at one order of a role, of `steps` steps; the third needs both
/// of all roles.
Status verifyFlight(const plan::Manifest &manifest, uint32_t role,
                    const RoleUse &use);
Status verifyRoleOrder(const plan::Manifest &manifest, uint32_t role,
                       const RoleUse &use, Phase phase, uint32_t steps = 1);
Status verifyLines(const plan::Manifest &manifest, Phase phase);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_VERIFYORDERS_H
