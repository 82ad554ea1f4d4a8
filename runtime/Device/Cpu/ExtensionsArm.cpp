#include "runtime/Device/Cpu/Extensions.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>

namespace zc::cpu {
namespace {

/// A bit of the words by which the system says what the processor has.
struct Extension {
  const char *name;
  unsigned long word, bit;
};

const Extension kExtensions[] = {
    {"fp-armv8", AT_HWCAP, HWCAP_FP},
    {"neon", AT_HWCAP, HWCAP_ASIMD},
    {"lse", AT_HWCAP, HWCAP_ATOMICS},
    {"rdm", AT_HWCAP, HWCAP_ASIMDRDM},
    {"fullfp16", AT_HWCAP, HWCAP_ASIMDHP},
    {"fp16fml", AT_HWCAP, HWCAP_ASIMDFHM},
    {"dotprod", AT_HWCAP, HWCAP_ASIMDDP},
    {"sve", AT_HWCAP, HWCAP_SVE},
    {"bf16", AT_HWCAP2, HWCAP2_BF16},
    {"i8mm", AT_HWCAP2, HWCAP2_I8MM},
};

const Extension *find(const std::string &name) {
  for (const Extension &extension : kExtensions)
    if (name == extension.name)
      return &extension;
  return nullptr;
}

} // namespace

const char *architecture() { return "aarch64"; }

bool isKnownExtension(const std::string &name) { return find(name) != nullptr; }

bool hasExtension(const std::string &name) {
  const Extension *found = find(name);
  return found && (::getauxval(found->word) & found->bit) != 0;
}

} // namespace zc::cpu
