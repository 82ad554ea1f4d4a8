// The buffers that an instruction reads and writes.
#ifndef ZC_RUNTIME_PLAN_BUFFERUSE_H
#define ZC_RUNTIME_PLAN_BUFFERUSE_H

#include "runtime/Plan/Manifest.pb.h"

#include <vector>

namespace zc {

/// The buffers that an instruction uses, by their indices in its program.
struct BufferUse {
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;     // all of their elements
  std::vector<uint32_t> alters;     // reads, and writes some of their elements
  std::vector<uint32_t> workspaces; // they hold nothing that is read later
};

BufferUse useOf(const plan::Instruction &instruction);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_BUFFERUSE_H
