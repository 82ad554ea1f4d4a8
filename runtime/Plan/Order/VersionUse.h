// The versions of parameters that a program reads and writes, so that orders
// can be checked: a micro-batch's backward reads those that its forward read.
#ifndef ZC_RUNTIME_PLAN_ORDER_VERSIONUSE_H
#define ZC_RUNTIME_PLAN_ORDER_VERSIONUSE_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"

#include <set>

namespace zc {

struct VersionUse {
  std::set<int32_t> ages; // as Buffer.age has them
  bool inPlace = false;   // a parameter that has one version
};

/// `role` must have passed the checks of its states.
VersionUse versionUseOf(const plan::Role &role, const plan::Program &program);

/// Whether a program of step `step` can run on a micro-batch behind `applied`
/// updates, of which each has written a version, where the role keeps so many
/// `versions`. Fails with Corrupt where a version is not there yet or not any
/// more.
Status verifyVersionUse(const VersionUse &use, int64_t step, int64_t applied,
                        int64_t versions);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ORDER_VERSIONUSE_H
