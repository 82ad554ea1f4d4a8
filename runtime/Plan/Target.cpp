#include "runtime/Plan/Target.h"

namespace zc {

bool isDevice(std::string_view name) { return name == "cpu" || name == "cuda"; }

bool runsOnHost(const plan::Target &target) { return target.device() == "cpu"; }

} // namespace zc
