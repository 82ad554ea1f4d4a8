#include "runtime/Device/Device.h"

namespace zc {

Result<Region> Region::allocate(Device &device, uint64_t bytes) {
  if (bytes == 0)
    return Region();
  ZC_ASSIGN_OR_RETURN(void *address, device.allocate(bytes));
  return Region(device, address, bytes);
}

Result<Region> Region::allocateOffloaded(Device &device, uint64_t bytes,
                                         const std::string &folder) {
  if (bytes == 0)
    return Region();
  ZC_ASSIGN_OR_RETURN(void *address, device.allocateOffloaded(bytes, folder));
  return Region(device, address, bytes);
}

Region &Region::operator=(Region &&other) noexcept {
  std::swap(device, other.device);
  std::swap(address, other.address);
  std::swap(size, other.size);
  return *this;
}

Region::~Region() {
  if (address)
    device->release(address, size);
}

} // namespace zc
