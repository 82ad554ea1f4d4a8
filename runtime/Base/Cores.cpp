#include "runtime/Base/Cores.h"
#include "runtime/Base/AffinityMask.h"
#include "runtime/Base/ControlGroups.h"
#include "runtime/Base/Hash.h"
#include "runtime/Base/Status.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <strings.h>
#include <vector>

namespace zc {

AllowedCores findAllowedCores() {
  const std::vector<cpu_set_t> mask = readAffinityMask();
  if (mask.empty())
    return {};
  const size_t bytes = mask.size() * sizeof(cpu_set_t);
  AllowedCores allowed{
      std::max(1, CPU_COUNT_S(bytes, mask.data())),
      hashBytes({reinterpret_cast<const char *>(mask.data()), bytes})};
  for (size_t i = 0; i < mask.size() * CPU_SETSIZE; ++i)
    if (CPU_ISSET_S(i, bytes, mask.data()))
      allowed.processors.push_back(int(i));
  return allowed;
}

namespace {

/// 0 where the folder sets no limit.
double readLimit(const std::string &folder, bool second) {
  std::string quota, period;
  if (second) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  double time = std::strtod(quota.c_str(), nullptr); // "max", "-1": none
  double of = std::strtod(period.c_str(), nullptr);
  return time > 0 && of > 0 ? time / of : 0;
}

} // namespace

CpuQuota readCpuQuota(const std::string &root) {
  CpuQuota quota;
  for (const ControlGroup &group : findControlGroups("cpu", root)) {
    const double limit = readLimit(root + group.folder, group.second);
    if (limit > 0 && (quota.cores == 0 || limit < quota.cores))
      quota = {limit, group.folder};
  }
  return quota;
}

int threadsWorth(int allowed, double quota) {
  constexpr double kLeastPart = 0.25;
  int threads = std::max(1, allowed);
  if (quota <= 0 || quota >= threads)
    return threads;
  double whole = std::floor(quota);
  return std::max(1, int(whole) + (quota - whole >= kLeastPart ? 1 : 0));
}

int usableCores() {
  return threadsWorth(findAllowedCores().count, readCpuQuota().cores);
}

static std::string forRanks(int64_t ranks) {
  return ranks > 1 ? strCat(" for ", ranks, " ranks") : "";
}

CoreShare shareCores(const AllowedCores &allowed, const CpuQuota &quota,
                     int64_t ranksOnCores, int64_t ranksInGroup) {
  int cores =
      std::max(1, allowed.count / int(std::max<int64_t>(ranksOnCores, 1)));
  int count = threadsWorth(
      cores, quota.cores / double(std::max<int64_t>(ranksInGroup, 1)));
  auto processors = [](auto number) {
    return strCat(number, number == 1 ? " processor" : " processors");
  };
  if (count < cores)
    return {count,
            strCat("control group '", quota.group, "' allows the time of ",
                   processors(quota.cores), forRanks(ranksInGroup))};
  return {count, strCat("there ", allowed.count == 1 ? "is " : "are ",
                        processors(allowed.count), forRanks(ranksOnCores))};
}

/// OpenMP's variable has the last word, as where threads wait.
static bool mayBind() {
  const char *value = std::getenv("OMP_PROC_BIND");
  return !value || ::strcasecmp(value, "false") != 0;
}

OwnCores dealCores(const AllowedCores &allowed, const CpuQuota &quota,
                   const CoreNeighbours &neighbours) {
  const auto count = int64_t(allowed.processors.size());
  const int64_t each = count / std::max<int64_t>(neighbours.count, 1);
  if (!mayBind())
    return {{}, "OMP_PROC_BIND=false"};
  if (neighbours.overlap)
    return {{}, "another rank may use some of the same processors"};
  if (quota.cores > 0 && quota.cores < double(count))
    return {{}, strCat("control group '", quota.group, "' limits the time")};
  if (each == 0)
    return {{},
            strCat("there are fewer processors than ranks, ", count, " to ",
                   neighbours.count)};
  auto first = allowed.processors.begin() + neighbours.place * each;
  return {{first, first + each}, ""};
}

std::string printProcessors(const std::vector<int> &processors) {
  std::string text;
  for (size_t i = 0; i < processors.size();) {
    size_t end = i + 1;
    while (end < processors.size() &&
           processors[end] == processors[end - 1] + 1)
      ++end;
    text += strCat(text.empty() ? "" : ",", processors[i]);
    if (end > i + 1)
      text += strCat("-", processors[end - 1]);
    i = end;
  }
  return text;
}

} // namespace zc
