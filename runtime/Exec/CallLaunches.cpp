#include "runtime/Exec/CallLaunches.h"
#include "runtime/Exec/Instructions.h"

namespace zc {

std::vector<Launch> launchesOfCalls(const Artifact &artifact,
                                    const std::vector<std::string> &programs) {
  std::vector<Launch> launches;
  const plan::Role &role = artifact.role();
  char place = 0; // offsets may be added to it, and to no null
  for (const std::string &name : programs) {
    const plan::Program *program = artifact.program(name);
    if (!program)
      continue;
    const std::vector<char *> slots(size_t(role.rings_size()), &place);
    const AddressMap map(*program, &place, &place, &place, slots, {&role, 0});
    for (const plan::Instruction &instruction : program->instructions())
      if (instruction.has_library())
        launches.push_back(makeLibraryLaunch(map, instruction.library()));
  }
  return launches;
}

} // namespace zc
