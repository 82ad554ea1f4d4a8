// The schedule of a pipeline that the user asks for.
#ifndef ZC_COMPILER_DRIVER_SCHEDULEOPTIONS_H
#define ZC_COMPILER_DRIVER_SCHEDULEOPTIONS_H

#include "compiler/Driver/Options.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/Order/Schedules.h"

#include <CLI/CLI.hpp>

namespace zc {

void addScheduleOptions(CLI::App &command, CompileOptions &options);

/// Gives a schedule that has several names the first of them.
void completeScheduleOptions(CompileOptions &options);

/// The roles of each stage that --stage-replicas lists; none without it, and
/// where they are to be dealt.
std::vector<uint32_t> listStageReplicas(const CompileOptions &options);

/// The schedule of the mesh's roles and of the step's micro-batches. Fails with
/// what is wrong with their numbers, or with the file. One role has a schedule,
/// too.
Result<PipelineSchedule> chooseSchedule(const CompileOptions &options);

/// How many of a stage's micro-batches are under way at once at most, by role
/// and by stage; nothing where roles would wait for each other.
struct InFlight {
  std::vector<int64_t> ofRoles, ofStages;
};
InFlight countInFlight(const CompileOptions &options,
                       const PipelineSchedule &schedule);

} // namespace zc

#endif
