// Schedules as PyTorch writes them (torch.distributed.pipelining, _dump_csv).
#ifndef ZC_RUNTIME_PLAN_ORDER_SCHEDULEFILE_H
#define ZC_RUNTIME_PLAN_ORDER_SCHEDULEFILE_H

#include "runtime/Plan/Order/Schedules.h"

#include <string>

namespace zc {

/// A line of comma-separated actions a rank. "2F1" is the forward of stage 2 of
/// micro-batch 1; B is its backward, I the gradients that it sends on and W
/// those of its parameters. Where there is a W, a B is an I. Several actions in
/// brackets, as "(0F1;1B0)OVERLAP_F_B", come one after another. Empty cells,
/// and actions that move something (SEND_F, UNSHARD, ...), are ignored: they
/// follow from the rest.
///
/// Fails where a line cannot be read, and where a stage's work is missing,
/// there twice, divided among ranks, or not in the order of micro-batches.
Result<PipelineSchedule> parseSchedule(const std::string &text);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_SCHEDULEFILE_H
