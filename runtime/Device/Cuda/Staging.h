// Pinned host memory through which data goes to the GPU and back: copies from
// there need not wait for one another, nor the host for them.
#ifndef ZC_RUNTIME_DEVICE_CUDA_STAGING_H
#define ZC_RUNTIME_DEVICE_CUDA_STAGING_H

#include "runtime/Device/Cuda/Driver.h"

namespace zc::cuda {

/// Two buffers in turn: while one is on its way, the other is filled or read.
class Staging {
public:
  static constexpr uint64_t kBytes = 8u << 20; // of a buffer

  explicit Staging(const Driver &driver) : driver(driver) {}
  ~Staging();
  Staging(const Staging &) = delete;

  /// Returns once `source` may change; the copy is then on `stream`.
  Status copyIn(CUdeviceptr destination, const char *source, uint64_t bytes,
                CUstream stream);
  /// Returns once `destination` holds what work on `stream` left.
  Status copyOut(char *destination, CUdeviceptr source, uint64_t bytes,
                 CUstream stream);

private:
  struct Slot {
    char *memory = nullptr;
    CUevent event = nullptr;
    bool busy = false;
  };
  Status prepare();
  /// The next slot, when the copy that used it last is done.
  Status next(Slot *&slot);
  Status finish(Slot &slot);

  const Driver &driver;
  Slot slots[2];
  int turn = 0;
};

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_STAGING_H
