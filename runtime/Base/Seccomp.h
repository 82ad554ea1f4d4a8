// The calls of the system that nothing in a sandbox may make. Private to this
// folder.
#ifndef ZC_RUNTIME_BASE_SECCOMP_H
#define ZC_RUNTIME_BASE_SECCOMP_H

#include "runtime/Base/Status.h"

namespace zc {

/// From now on this process, with all its threads, opens no connection, starts
/// no program, looks into and signals no other process, and changes nobody's
/// rights: the call fails with EPERM.
Status forbidCalls();

} // namespace zc

#endif // ZC_RUNTIME_BASE_SECCOMP_H
