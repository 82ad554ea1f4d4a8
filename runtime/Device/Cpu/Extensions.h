// Extensions of the processors of one architecture: ExtensionsX86.cpp or
// ExtensionsArm.cpp, whichever this program is built for.
#ifndef ZC_RUNTIME_DEVICE_CPU_EXTENSIONS_H
#define ZC_RUNTIME_DEVICE_CPU_EXTENSIONS_H

#include <string>

namespace zc::cpu {

/// "x86-64" or "aarch64".
const char *architecture();

/// Whether this CPU and its system support the extension that LLVM spells so.
/// False for a name that is not known here.
bool hasExtension(const std::string &name);

/// Whether the name is one of this architecture's.
bool isKnownExtension(const std::string &name);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_EXTENSIONS_H
