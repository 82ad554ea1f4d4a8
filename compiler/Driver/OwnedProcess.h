// Processes that end with the one that has started them.
#ifndef ZC_COMPILER_DRIVER_OWNEDPROCESS_H
#define ZC_COMPILER_DRIVER_OWNEDPROCESS_H

#include <sys/types.h>

namespace zc {

/// fork(2), whose child is killed when this process ends, however it does.
/// Threads must not be running.
pid_t forkOwned();

/// Waits for the end of a child; its status, as waitpid(2) gives it.
int awaitEnd(pid_t child);

} // namespace zc

#endif
