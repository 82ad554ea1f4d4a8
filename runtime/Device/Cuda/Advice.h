// Advice for an operation that a library of the GPU does not compute.
#ifndef ZC_RUNTIME_DEVICE_CUDA_ADVICE_H
#define ZC_RUNTIME_DEVICE_CUDA_ADVICE_H

#include "runtime/Base/Status.h"

#include <string>

namespace zc::cuda {

/// A status that says the library lacks something (Unsupported), with `what` it
/// was to compute and the library call, as --libraries names it, that is to
/// be left out; others as they are.
Status adviseOnLack(const Status &status, const std::string &library,
                    const std::string &what, const std::string &call);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_ADVICE_H
