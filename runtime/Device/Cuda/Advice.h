// Advice for an operation that a library of the GPU does not compute.
#ifndef ZC_RUNTIME_DEVICE_CUDA_ADVICE_H
#define ZC_RUNTIME_DEVICE_CUDA_ADVICE_H

#include "kernels/Spec.h"
#include "runtime/Base/Status.h"

#include <string>

namespace zc::cuda {

/// "bfloat16"; "float32" for what no library multiplies.
const char *printType(kernels::ElementType type);

/// "[32, 8]".
std::string printDims(const std::vector<int64_t> &dims);

/// A status that says the library lacks something (Unsupported), with `what` it
/// was to compute and the library call, as --libraries names it, that is to
/// be left out; others as they are.
Status adviseOnLack(const Status &status, const std::string &library,
                    const std::string &what, const std::string &call);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_ADVICE_H
