// The processors that a thread may run on, as the kernel says it.
#ifndef ZC_RUNTIME_BASE_AFFINITYMASK_H
#define ZC_RUNTIME_BASE_AFFINITYMASK_H

#include <sched.h>
#include <vector>

namespace zc {

/// The calling thread's affinity mask, as many sets as the kernel asks for;
/// empty: the system does not say.
std::vector<cpu_set_t> readAffinityMask();

} // namespace zc

#endif // ZC_RUNTIME_BASE_AFFINITYMASK_H
