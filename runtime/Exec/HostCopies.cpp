// Executor: copies between the host and buffers, messages and states.
#include "runtime/Exec/Executor.h"
#include "runtime/Exec/Instructions.h"
#include "runtime/Plan/Types.h"

namespace zc {

Status Executor::write(const plan::Program &program, uint32_t index,
                       const void *bytes, const Slots &slots) {
  AddressMap map = addressesOf(program, slots);
  return device.copyIn(map.address(index), bytes,
                       *byteCount(map.buffer(index).type()), kMainStream);
}

Status Executor::read(const plan::Program &program, uint32_t index, void *bytes,
                      const Slots &slots) {
  AddressMap map = addressesOf(program, slots);
  ZC_RETURN_IF_ERROR(device.copyOut(bytes, map.address(index),
                                    *byteCount(map.buffer(index).type()),
                                    kMainStream));
  return device.synchronize(kMainStream);
}

Status Executor::readMessage(const plan::Message &message, uint32_t slot,
                             void *bytes) {
  if (device.hostReadsMemory())
    return Status();
  ZC_RETURN_IF_ERROR(device.copyOut(bytes, addressOf(message, slot),
                                    *byteCount(message.type()), kMainStream));
  return device.synchronize(kMainStream);
}

Status Executor::writeMessage(const plan::Message &message, uint32_t slot,
                              const void *bytes) {
  if (device.hostReadsMemory())
    return Status();
  ZC_RETURN_IF_ERROR(device.copyIn(addressOf(message, slot), bytes,
                                   *byteCount(message.type()), kMainStream));
  return device.synchronize(kMainStream);
}

/// A state's pages lie where whoever writes them first puts them: in the
/// division that kernels use, before one thread fills them from a file.
void Executor::placeOnce(char *state, uint64_t bytes) {
  constexpr uint64_t kSmall = 64 << 10; // one step's settings, among others
  if (bytes > kSmall && placed.insert(state).second)
    device.place(state, bytes);
}

Status Executor::writeState(const plan::State &state, uint64_t offset,
                            const void *data, uint64_t bytes, uint32_t age) {
  char *address = addressOf(state, age);
  placeOnce(address, *byteCount(state.type()));
  return device.copyIn(address + offset, data, bytes, kMainStream);
}

Status Executor::readState(const plan::State &state, uint64_t offset,
                           void *data, uint64_t bytes, uint32_t age) {
  ZC_RETURN_IF_ERROR(
      device.copyOut(data, addressOf(state, age) + offset, bytes, kMainStream));
  return device.synchronize(kMainStream);
}

} // namespace zc
