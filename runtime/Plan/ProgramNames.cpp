#include "runtime/Plan/ProgramNames.h"

namespace zc {

ProgramName ProgramName::parse(const std::string &name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot + 1 == name.size() ||
      name.size() - dot > 5 ||
      name.find_first_not_of("0123456789", dot + 1) != std::string::npos)
    return {name, 0};
  return {name.substr(0, dot), uint32_t(std::stoul(name.substr(dot + 1)))};
}

} // namespace zc
