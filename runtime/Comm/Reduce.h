// Element by element reduction on the host.
#ifndef ZC_RUNTIME_COMM_REDUCE_H
#define ZC_RUNTIME_COMM_REDUCE_H

#include "runtime/Comm/Communicator.h"

namespace zc {

/// target = target (+) source. bfloat16 and float16 are added in
/// float32. Fails for types
/// that are never reduced.
Status reduceInto(void *target, const void *source, int64_t count,
                  ElementType type, Reduction reduction);

} // namespace zc

#endif // ZC_RUNTIME_COMM_REDUCE_H
