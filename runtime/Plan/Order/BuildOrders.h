// Turns a schedule into the orders of an artifact's roles, and gives their
// rings as many slots as those need.
#ifndef ZC_RUNTIME_PLAN_ORDER_BUILDORDERS_H
#define ZC_RUNTIME_PLAN_ORDER_BUILDORDERS_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"
#include "runtime/Plan/Order/Schedules.h"

namespace zc {

struct OrderOptions {
  std::string schedule = "1f1b"; // as makeSchedule() of Schedules.h knows them
  uint32_t microBatches = 1;     // as the manifest's `accumulate`
  uint32_t evaluated = 1;        // micro-batches of one order of evaluation
  // In the name's place: made elsewhere, as of a file. Not owned.
  const PipelineSchedule *given = nullptr;
};

/// Fills train, train_late and eval of every role, as far as it has the
/// programs, and slots and offset of its rings, and flight_bytes. The slots'
/// sizes are rounded up to whole 64 bytes.
///
/// A role trains by one program "step", or for each micro-batch by "forward"
/// and "backward" (and "weight_gradients", where it is apart), or by
/// "micro", which is both in one, where the schedule has them one after the
/// other and the role receives no gradients; in the end comes "apply". A
/// schedule counts nothing where there is one role that has "micro" alone. A
/// role of several stages has programs of each: "forward.0", "forward.1".
///
/// A program "gather" writes the units that a program reads, after the stage's
/// group of `reshard_every` micro-batches began, and after another unit was in
/// their place.
///
/// Without flush ("2bw", "stash"), several roles get an order of a step in the
/// midst of a run of them, and a prologue, and the rings' slots take turns.
///
/// Receives are begun one call ahead, where that needs no more slots of a ring
/// that other programs use, too, and where the roles do not come to a halt by
/// it.
///
/// Fails for schedules and numbers of micro-batches that do not fit, where a
/// program is missing, and where the roles would wait for each other.
Status buildOrders(plan::Manifest &manifest, const OrderOptions &options);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_BUILDORDERS_H
