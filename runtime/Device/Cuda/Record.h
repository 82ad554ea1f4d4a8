// Records calls to the driver in a file: tests on a GPU see by it that a plan
// is kept.
#ifndef ZC_RUNTIME_DEVICE_CUDA_RECORD_H
#define ZC_RUNTIME_DEVICE_CUDA_RECORD_H

#include "runtime/Device/Cuda/Driver.h"

namespace zc::cuda {

/// Where ZC_CUDA_RECORD names a file, puts functions before some of the table's
/// that write a line there, then do as before: "alloc BYTES" (memory of the
/// GPU), "pin BYTES" (of the host), "capture", "launch" (of a graph), "kernel"
/// (a launch, or a node of a graph that is captured). Called once a process.
Status recordCalls(Driver &driver);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_RECORD_H
