#include "compiler/Driver/MaxTrips.h"

void zc::addMaxTripsOption(CLI::App &command,
                           std::map<std::string, int64_t> &dims) {
  command
      .add_option_function<int64_t>(
          kMaxTrips, [&dims](int64_t most) { dims[kMaxTrips] = most; },
          "the most rounds of a loop whose number of rounds depends on values; "
          "all are computed, those beyond the last change nothing")
      ->check(CLI::Range(int64_t(1), int64_t(16384)))
      ->type_name("N")
      ->default_str("");
}

int64_t zc::takeMaxTrips(std::map<std::string, int64_t> &dims) {
  auto found = dims.find(kMaxTrips);
  if (found == dims.end())
    return 0;
  int64_t bound = found->second;
  dims.erase(found);
  return bound;
}
