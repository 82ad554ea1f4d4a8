// Names of the floating-point initializers that an artifact's programs use with
// the model file's values, as states or in the code: a checkpoint that trained
// one of these is refused.
#ifndef ZC_RUNTIME_PLAN_FROZENNAMES_H
#define ZC_RUNTIME_PLAN_FROZENNAMES_H

#include "runtime/Plan/ZipReader.h"

#include <set>
#include <string>
#include <vector>

namespace zc {

/// An entry that an artifact without such initializers lacks.
constexpr const char *kFrozenEntry = "frozen";

std::string makeFrozenNames(const std::vector<std::string> &names);
Result<std::set<std::string>> readFrozenNames(const ZipReader &archive);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_FROZENNAMES_H
