// Checks everything in a manifest that the runtime relies on, so that nothing
// after it has to: a damaged or foreign artifact ends in a message, never in a
// stray access.
#ifndef ZC_RUNTIME_PLAN_VERIFY_H
#define ZC_RUNTIME_PLAN_VERIFY_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"

namespace zc {

constexpr uint32_t kFormatVersion = 1;

/// The whole manifest.
Status verifyManifest(const plan::Manifest &manifest);

/// One program; `persistentBytes` is the size of the region it shares.
Status verifyProgram(const plan::Program &program, uint64_t persistentBytes);

/// One instruction of a program whose buffers are sound.
Status verifyInstruction(const plan::Program &program,
                         const plan::Instruction &instruction);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_VERIFY_H
