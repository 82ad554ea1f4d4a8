// How a program ends that has failed: what `zc launch` must know of its ranks,
// told by their exit codes.
//
// A rank has been *refused* where another start would meet the same: by a
// failure of its own, before its first step of this start is done (a file is
// missing, the artifact is not trusted, memory does not suffice), or at any
// step by data or options that do not fit (StatusCode::InvalidArgument).
// Nobody is refused because another rank is gone or silent, nor by a failure
// of a library, nor by a signal: these are what a restart is for.
#ifndef ZC_RUNTIME_BASE_ENDING_H
#define ZC_RUNTIME_BASE_ENDING_H

#include "runtime/Base/Status.h"

namespace zc {

/// The work failed, for whatever reason.
constexpr int kExitFailed = 1;
/// A rank was refused. Only `zc launch` sees it, which sets kSupervised.
constexpr int kExitRefused = 3;
/// A variable of the environment.
constexpr const char *kSupervised = "ZC_SUPERVISED";

/// From here on memory, files and disks have done for one step.
void noteStepDone();

/// Another rank is gone or silent: all that fails from here on fails by that.
void noteLostRank();

/// Takes down why this process ends: its own failure, which it tells the user.
void noteRefusal(const Status &why);

/// For a process without memory, which can make no Status. Safe in handlers.
void noteNoMemory() noexcept;

/// kExitFailed, or kExitRefused for `zc launch`. Safe in handlers.
int failureCode() noexcept;

} // namespace zc

#endif // ZC_RUNTIME_BASE_ENDING_H
