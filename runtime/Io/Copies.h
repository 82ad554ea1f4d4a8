// Tensors that several roles hold: they stay equal because all holders compute
// the same, and this proves it.
#ifndef ZC_RUNTIME_IO_COPIES_H
#define ZC_RUNTIME_IO_COPIES_H

#include "runtime/Exec/Executor.h"

namespace zc {

/// Fails with Internal, naming the tensor, where two roles' copies of one
/// differ in any bit; however their ranks divide it. Called by all ranks; if
/// one fails, all do.
Status checkCopies(Executor &executor);

} // namespace zc

#endif // ZC_RUNTIME_IO_COPIES_H
