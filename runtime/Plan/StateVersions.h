// Versions of states: without flush, forwards and backwards read parameters as
// they were some steps before, so that a role keeps several versions of them.
#ifndef ZC_RUNTIME_PLAN_STATEVERSIONS_H
#define ZC_RUNTIME_PLAN_STATEVERSIONS_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// Whether the role keeps several versions of the state.
inline bool hasVersions(const plan::State &state) { return state.delay() > 0; }

/// Whether a program touches a state that has versions.
bool usesVersions(const plan::Program &program);

/// Bytes from the first slot of the role's versions to that of a version; those
/// in front of version 0 have slots, too. 0 where the role has no versions.
uint64_t versionOffset(const plan::Role &role, int64_t version);

/// Checks the slots of versions, and that states and buffers with versions lie
/// in the first of them and others outside. Fails with Corrupt.
Status verifyVersions(const plan::Role &role);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_STATEVERSIONS_H
