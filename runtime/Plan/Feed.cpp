#include "runtime/Plan/Feed.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Target.h"
#include "runtime/Plan/Types.h"

namespace zc {

const plan::Program *programFedAhead(const plan::Manifest &manifest,
                                     const plan::Role &role) {
  // Kernels of a CPU take all of its cores: to feed it beside them gains
  // nothing.
  if (runsOnHost(manifest.target()))
    return nullptr;
  for (const plan::Program &program : role.programs())
    if (program.name() == programs::kStep || program.name() == programs::kMicro)
      return &program;
  return nullptr;
}

uint64_t fedAheadOffset(const plan::Program &program, int index) {
  uint64_t offset = 0;
  for (int i = 0; i < index; ++i) {
    const plan::Input &input = program.inputs(i);
    Result<uint64_t> bytes =
        byteCount(program.buffers(int(input.buffer())).type());
    if (bytes.ok())
      offset += alignBuffer(*bytes);
  }
  return offset;
}

uint64_t fedAheadBytes(const plan::Manifest &manifest, const plan::Role &role) {
  const plan::Program *program = programFedAhead(manifest, role);
  return program ? fedAheadOffset(*program, program->inputs_size()) : 0;
}

} // namespace zc
