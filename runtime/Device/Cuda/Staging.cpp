#include "runtime/Device/Cuda/Staging.h"
#include "runtime/Base/ParallelParts.h"

#include <algorithm>
#include <cstring>

namespace zc::cuda {

Staging::~Staging() {
  for (Slot &slot : slots) {
    if (slot.event)
      driver.cuEventDestroy(slot.event);
    if (slot.memory)
      driver.cuMemFreeHost(slot.memory);
  }
}

Status Staging::prepare() {
  for (Slot &slot : slots) {
    if (slot.memory)
      continue;
    void *memory = nullptr;
    ZC_CUDA_CALL(driver, cuMemHostAlloc, &memory, kBytes, 0);
    slot.memory = static_cast<char *>(memory);
    ZC_CUDA_CALL(driver, cuEventCreate, &slot.event, CU_EVENT_DISABLE_TIMING);
  }
  return Status();
}

Status Staging::finish(Slot &slot) {
  if (slot.busy)
    ZC_CUDA_CALL(driver, cuEventSynchronize, slot.event);
  slot.busy = false;
  return Status();
}

Status Staging::next(Slot *&slot) {
  ZC_RETURN_IF_ERROR(prepare());
  slot = &slots[turn];
  turn = 1 - turn;
  return finish(*slot);
}

Status Staging::copyIn(CUdeviceptr destination, const char *source,
                       uint64_t bytes, CUstream stream) {
  for (uint64_t at = 0; at < bytes; at += kBytes) {
    uint64_t part = std::min(kBytes, bytes - at);
    Slot *slot;
    ZC_RETURN_IF_ERROR(next(slot));
    inParallelParts(int64_t(part), int64_t(part),
                    [&](int64_t begin, int64_t end) {
                      std::memcpy(slot->memory + begin, source + at + begin,
                                  size_t(end - begin));
                    });
    ZC_CUDA_CALL(driver, cuMemcpyHtoDAsync, destination + at, slot->memory,
                 part, stream);
    ZC_CUDA_CALL(driver, cuEventRecord, slot->event, stream);
    slot->busy = true;
  }
  return Status();
}

Status Staging::copyOut(char *destination, CUdeviceptr source, uint64_t bytes,
                        CUstream stream) {
  // While a part is copied out of its slot, the next is on its way.
  Slot *before = nullptr;
  uint64_t beforeAt = 0, beforeBytes = 0;
  auto deliver = [&]() -> Status {
    if (!before)
      return Status();
    ZC_RETURN_IF_ERROR(finish(*before));
    std::memcpy(destination + beforeAt, before->memory, beforeBytes);
    return Status();
  };
  for (uint64_t at = 0; at < bytes; at += kBytes) {
    uint64_t part = std::min(kBytes, bytes - at);
    Slot *slot;
    ZC_RETURN_IF_ERROR(next(slot));
    ZC_CUDA_CALL(driver, cuMemcpyDtoHAsync, slot->memory, source + at, part,
                 stream);
    ZC_CUDA_CALL(driver, cuEventRecord, slot->event, stream);
    slot->busy = true;
    ZC_RETURN_IF_ERROR(deliver());
    before = slot;
    beforeAt = at;
    beforeBytes = part;
  }
  return deliver();
}

} // namespace zc::cuda
