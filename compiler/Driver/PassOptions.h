// The options of passes that a user's options stand for.
#ifndef ZC_COMPILER_DRIVER_PASSOPTIONS_H
#define ZC_COMPILER_DRIVER_PASSOPTIONS_H

#include "compiler/Driver/Options.h"
#include "compiler/Driver/ScheduleOptions.h"
#include "passes/Contents/Contents.h"

namespace zc {

/// All that follows from the options alone: neither from the model nor from
/// files, which `class-weights`, `tp-rules` and `stages` may name.
PassOptions getPassOptions(const CompileOptions &options);

/// Cuts the model into the stages of `schedule`, or without roles of the rules
/// `patterns`, as parseStageFile() has them; there are none where neither pp
/// nor a schedule without flush asks for stages.
void setStages(const CompileOptions &options, const PipelineSchedule &schedule,
               const std::string &patterns, PassOptions &passes);

/// The roles of `schedule`, for which stages have been set.
void setRoles(const CompileOptions &options, const PipelineSchedule &schedule,
              PassOptions &passes);

/// How residuals are divided inside tp; `sequenceParallel` is "on", "on=kept"
/// or "off".
void setResiduals(const CompileOptions &options,
                  const std::string &sequenceParallel, PassOptions &passes);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_PASSOPTIONS_H
