// What this CPU can do, in LLVM's words.
#ifndef ZC_RUNTIME_DEVICE_CPU_FEATURES_H
#define ZC_RUNTIME_DEVICE_CPU_FEATURES_H

#include <string>

namespace zc::cpu {

/// Whether this CPU and its system support the feature that LLVM spells so
/// ("avx512f"). False for a name that is not known here.
bool hasFeature(const std::string &name);

/// Whether the name is known at all.
bool isKnownFeature(const std::string &name);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_FEATURES_H
