#include "runtime/Device/Cpu/Features.h"
#include "runtime/Base/Status.h"
#include "runtime/Device/Cpu/Extensions.h"

namespace zc::cpu {

static bool isArchitecture(const std::string &name) {
  return name == "x86-64" || name == "aarch64";
}

bool hasFeature(const std::string &name) {
  return isArchitecture(name) ? name == architecture() : hasExtension(name);
}

std::string explainLack(const std::string &feature) {
  if (isArchitecture(feature))
    return strCat("it is made for processors of the architecture '", feature,
                  "', and this one is of '", architecture(), "'");
  return strCat("it needs the instruction set '", feature,
                isKnownExtension(feature)
                    ? "', which this CPU lacks"
                    : "', which this program does not know");
}

} // namespace zc::cpu
