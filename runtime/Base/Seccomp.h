// The calls of the system that something in a sandbox may make. Private to this
// folder.
#ifndef ZC_RUNTIME_BASE_SECCOMP_H
#define ZC_RUNTIME_BASE_SECCOMP_H

#include "runtime/Base/Status.h"

namespace zc {

/// From now on this process, with all its threads, makes no calls but those
/// that a run needs: it opens no connection, starts no program, looks into and
/// signals no other process, and changes nobody's rights. Another call fails
/// with EPERM, and one that is newer than zc with ENOSYS, as where the kernel
/// has none.
Status forbidCalls();

} // namespace zc

#endif // ZC_RUNTIME_BASE_SECCOMP_H
