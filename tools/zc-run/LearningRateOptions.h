// --lr, --lr-schedule and what belongs to one schedule or another.
#ifndef ZC_TOOLS_ZCRUN_LEARNINGRATEOPTIONS_H
#define ZC_TOOLS_ZCRUN_LEARNINGRATEOPTIONS_H

#include "runtime/Driver/Trainer.h"

#include <CLI/CLI.hpp>

namespace zc {

void addLearningRateOptions(CLI::App &app, LearningRateSchedule &schedule);

/// Throws where an option would have no effect with the schedule.
void checkLearningRateOptions(const CLI::App &app, const TrainOptions &options);

} // namespace zc

#endif // ZC_TOOLS_ZCRUN_LEARNINGRATEOPTIONS_H
