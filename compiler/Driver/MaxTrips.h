// --max-trips: the most rounds of a loop whose number of rounds depends on
// values.
#ifndef ZC_COMPILER_DRIVER_MAXTRIPS_H
#define ZC_COMPILER_DRIVER_MAXTRIPS_H

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>

namespace zc {

/// The bound stands among the sizes that a model lacks (CompileOptions::dims),
/// under a name that no dim has.
inline constexpr char kMaxTrips[] = "--max-trips";

/// Adds the option, whose number goes into `dims`.
void addMaxTripsOption(CLI::App &command, std::map<std::string, int64_t> &dims);

/// Takes the bound out of `dims`; 0 where there is none.
int64_t takeMaxTrips(std::map<std::string, int64_t> &dims);

} // namespace zc

#endif
