// Checks everything in a manifest that the runtime relies on, so that nothing
// after it has to: a damaged or foreign artifact ends in a message, never in a
// stray access.
#ifndef ZC_RUNTIME_PLAN_VERIFY_H
#define ZC_RUNTIME_PLAN_VERIFY_H

#include "runtime/Plan/Collective/Cost.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/StreamNumbers.h"

namespace zc {

constexpr uint32_t kFormatVersion = 3;

/// Whether the device's host computes it.
inline bool isOnHost(const plan::Instruction &instruction) {
  return instruction.stream() == streams::kHost;
}

/// Whether it lies in the second memory, which only copies reach, and kernels
/// of the host.
inline bool isOffloaded(const plan::Buffer &buffer) {
  return buffer.space() == plan::OFFLOADED || buffer.offloaded();
}

/// The whole manifest.
Status verifyManifest(const plan::Manifest &manifest);

/// One program of a role, which says how large the regions are that programs
/// share.
Status verifyProgram(const plan::Program &program, const plan::Role &role,
                     const Mesh &mesh);

/// Checks roles, each sound, together: a tensor of files is the same in all its
/// holders, and the roles' orders fit.
Status verifyRolesFit(const plan::Manifest &manifest);

/// Collectives among roles: all who take part issue the same ones, in one
/// order. Instructions have been checked.
Status verifyRoleCollectives(const plan::Manifest &manifest);

/// One instruction of a program whose buffers are sound.
Status verifyInstruction(const plan::Program &program,
                         const plan::Instruction &instruction,
                         const Mesh &mesh);

/// Checks the bytes of a source of a state or member of `type`.
Status verifySourceType(const plan::WeightSource &source,
                        const plan::TensorType &type);

/// Parts of these, about ranks.
Status verifyStateSharding(const plan::State &state, const Mesh &mesh);
Status verifyInputSharding(const plan::Input &input,
                           const plan::TensorType &type, const Mesh &mesh);
Status verifyOutputSharding(const plan::Output &output,
                            const plan::TensorType &type, const Mesh &mesh);
Status verifyCollective(const plan::Program &program,
                        const plan::CollectiveCall &call, const Mesh &mesh);

/// The collective of a call whose buffers and axes are sound.
CollectiveShape shapeOf(const plan::Program &program,
                        const plan::CollectiveCall &call, const Mesh &mesh);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_VERIFY_H
