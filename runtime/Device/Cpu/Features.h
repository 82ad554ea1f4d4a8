// The features of this CPU, by LLVM's names.
#ifndef ZC_RUNTIME_DEVICE_CPU_FEATURES_H
#define ZC_RUNTIME_DEVICE_CPU_FEATURES_H

#include <string>

namespace zc::cpu {

/// Whether this CPU is of the architecture ("x86-64", "aarch64"), or it and its
/// system support the extension that LLVM spells so ("avx512f"). False for a
/// name that is not known here.
bool hasFeature(const std::string &name);

/// Why code that asks for a feature cannot run on this CPU, which lacks it: "it
/// needs the instruction set 'avx512f', which this CPU lacks".
std::string explainLack(const std::string &feature);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_FEATURES_H
