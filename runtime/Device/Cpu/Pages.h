// Memory of this process by whole pages.
#ifndef ZC_RUNTIME_DEVICE_CPU_PAGES_H
#define ZC_RUNTIME_DEVICE_CPU_PAGES_H

#include "runtime/Base/Status.h"

#include <cstdint>

namespace zc::cpu {

/// Zeroed pages, exactly as many as asked for; large regions begin at a huge
/// page, and the system may back them with such.
Result<void *> allocatePages(uint64_t bytes);
/// `bytes` as they were asked for.
void releasePages(void *address, uint64_t bytes);
/// Whether so many bytes of addresses are to be had now.
bool hasRoom(uint64_t bytes);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_PAGES_H
