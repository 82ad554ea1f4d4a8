#include "runtime/Plan/BufferUse.h"

namespace zc {

static BufferUse useOf(const plan::KernelCall &call) {
  const auto inputs = call.buffers().begin() + call.num_inputs();
  return {
      {call.buffers().begin(), inputs}, {inputs, call.buffers().end()}, {}, {}};
}

static BufferUse useOf(const plan::LibraryCall &call) {
  BufferUse use{{call.inputs().begin(), call.inputs().end()},
                {call.outputs().begin(), call.outputs().end()},
                {},
                {}};
  if (call.has_workspace())
    use.workspaces.push_back(call.workspace());
  return use;
}

static BufferUse useOf(const plan::CollectiveCall &call) {
  const bool isEverywhere = call.kind() != plan::REDUCE &&
                            call.kind() != plan::GATHER &&
                            call.holders_size() == 0;
  BufferUse use{{call.source()}, {}, {}, {}};
  (isEverywhere ? use.writes : use.alters).push_back(call.destination());
  if (call.has_workspace())
    use.workspaces.push_back(call.workspace());
  return use;
}

BufferUse useOf(const plan::Instruction &instruction) {
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    return useOf(instruction.kernel());
  case plan::Instruction::kLibrary:
    return useOf(instruction.library());
  case plan::Instruction::kCopy:
    return {{instruction.copy().source()},
            {instruction.copy().destination()},
            {},
            {}};
  case plan::Instruction::kCollective:
    return useOf(instruction.collective());
  case plan::Instruction::KIND_NOT_SET:
    break;
  }
  return {};
}

} // namespace zc
