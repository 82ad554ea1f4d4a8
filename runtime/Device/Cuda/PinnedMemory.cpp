#include "runtime/Device/Cuda/PinnedMemory.h"

#include <cassert>
#include <cstring>

namespace zc::cuda {

Status PinnedMemory::allocate(uint64_t bytes) {
  assert(!address && "one region is offloaded");
  void *memory = nullptr;
  CUresult result = driver.cuMemHostAlloc(&memory, bytes, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return makeError(
        StatusCode::ResourceExhausted, "the plan keeps ", bytes,
        " bytes in this machine's memory while the GPU does not need them, but "
        "the driver can pin no such amount (see free -b and ulimit -l); "
        "compile with less in --offload");
  ZC_RETURN_IF_ERROR(driver.check(result, "cuMemHostAlloc"));
  address = static_cast<char *>(memory);
  size = bytes;
  std::memset(address, 0, size);
  return Status();
}

void PinnedMemory::release() {
  if (address)
    driver.cuMemFreeHost(address);
  address = nullptr;
  size = 0;
}

} // namespace zc::cuda
