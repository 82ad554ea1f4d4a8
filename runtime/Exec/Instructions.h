// From the instructions of a plan to launches with addresses. The plan has been
// verified.
#ifndef ZC_RUNTIME_EXEC_INSTRUCTIONS_H
#define ZC_RUNTIME_EXEC_INSTRUCTIONS_H

#include "runtime/Device/Device.h"
#include "runtime/Plan/StateVersions.h"

#include <string>
#include <utility>
#include <vector>

namespace zc {

/// The newest of a role's versions.
struct NewestVersion {
  const plan::Role *role = nullptr;
  int64_t version = 0;
};

/// Where the buffers of one program lie. `slots`: for each ring the slot that
/// its buffers in flight are in. `newest`: with a role where states have
/// versions.
class AddressMap {
public:
  AddressMap(const plan::Program &program, char *persistent, char *transient,
             char *offloaded = nullptr, std::vector<char *> slots = {},
             NewestVersion newest = {})
      : program(program), bases{persistent, transient, offloaded},
        slots(std::move(slots)), newest(newest) {}

  const plan::Program &getProgram() const { return program; }
  const plan::Buffer &buffer(uint32_t index) const {
    return program.buffers(static_cast<int>(index));
  }
  void *address(uint32_t index) const {
    const plan::Buffer &b = buffer(index);
    char *base = b.space() == plan::FLIGHT ? slots[b.ring()] : bases[b.space()];
    if (b.versioned())
      base += versionOffset(*newest.role, newest.version - b.age());
    return base + b.offset();
  }

private:
  const plan::Program &program;
  char *bases[3];            // by plan::Space
  std::vector<char *> slots; // of FLIGHT, by ring
  NewestVersion newest;
};

KernelLaunch makeKernelLaunch(const AddressMap &map,
                              const plan::Instruction &instruction);
Launch makeLibraryLaunch(const AddressMap &map, const plan::LibraryCall &call);
CopyLaunch makeCopyLaunch(const AddressMap &map, const plan::CopyCall &call);

/// Where an instruction stands and comes from, for messages.
std::string describe(const plan::Program &program, size_t index,
                     const plan::Instruction &instruction);

/// Any instruction that is no collective, by its kind.
Launch makeLaunch(const AddressMap &map, const plan::Instruction &instruction);

} // namespace zc

#endif // ZC_RUNTIME_EXEC_INSTRUCTIONS_H
