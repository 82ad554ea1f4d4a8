// The devices that artifacts are for, by their names in manifests.
#ifndef ZC_RUNTIME_PLAN_TARGET_H
#define ZC_RUNTIME_PLAN_TARGET_H

#include "runtime/Plan/Manifest.pb.h"

#include <string_view>

namespace zc {

/// Whether artifacts can be for a device of that name.
bool isDevice(std::string_view name);

/// Whether kernels run on the host's own threads and in its memory.
bool runsOnHost(const plan::Target &target);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_TARGET_H
