// Processes that end with the one that has started them.
#ifndef ZC_COMPILER_DRIVER_OWNEDPROCESS_H
#define ZC_COMPILER_DRIVER_OWNEDPROCESS_H

#include <sys/types.h>

namespace zc {

/// fork(2), whose child is killed when this process ends, however it does.
/// Threads must not be running.
pid_t forkOwned();

/// Waits for the end of a child; its status, as waitpid(2) gives it. `seconds`,
/// where it is not null: of processors that the child has taken.
int awaitEnd(pid_t child, double *seconds = nullptr);

} // namespace zc

#endif
