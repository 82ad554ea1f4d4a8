// Memory of the host that the GPU copies from and to by itself: where an
// artifact keeps what it offloads.
#ifndef ZC_RUNTIME_DEVICE_CUDA_PINNEDMEMORY_H
#define ZC_RUNTIME_DEVICE_CUDA_PINNEDMEMORY_H

#include "runtime/Device/Cuda/Driver.h"

namespace zc::cuda {

class PinnedMemory {
public:
  explicit PinnedMemory(const Driver &driver) : driver(driver) {}
  ~PinnedMemory() { release(); }
  PinnedMemory(const PinnedMemory &) = delete;

  /// Zeroed bytes, once. Fails where the host cannot give so many.
  Status allocate(uint64_t bytes);
  void release();

  char *base() const { return address; }
  bool contains(const void *place) const {
    return place >= address && place < address + size;
  }

private:
  const Driver &driver;
  char *address = nullptr;
  uint64_t size = 0;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_PINNEDMEMORY_H
