#include "runtime/Base/Cores.h"
#include "runtime/Base/Hash.h"
#include "runtime/Base/Status.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <strings.h>
#include <vector>

namespace zc {

AllowedCores findAllowedCores() {
  // The kernel refuses a set that is smaller than its own.
  for (size_t processors = 1024; processors <= (1u << 20); processors *= 2) {
    std::vector<char> bytes(CPU_ALLOC_SIZE(processors));
    auto *set = reinterpret_cast<cpu_set_t *>(bytes.data());
    if (::sched_getaffinity(0, bytes.size(), set) != 0)
      continue;
    AllowedCores allowed{std::max(1, CPU_COUNT_S(bytes.size(), set)),
                         hashBytes({bytes.data(), bytes.size()})};
    for (size_t i = 0; i < processors; ++i)
      if (CPU_ISSET_S(i, bytes.size(), set))
        allowed.processors.push_back(int(i));
    return allowed;
  }
  return {};
}

namespace {

std::vector<std::string> splitAt(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

bool contains(const std::string &list, const std::string &name) {
  auto names = splitAt(list, ',');
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A path as /proc/self/mountinfo has it: blanks are octal numbers.
std::string unescape(const std::string &text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    bool escaped = text[i] == '\\' && i + 3 < text.size();
    plain += escaped ? char(std::strtol(text.substr(i + 1, 3).c_str(), nullptr,
                                        /*base=*/8))
                     : text[i];
    i += escaped ? 3 : 0;
  }
  return plain;
}

/// A hierarchy of control groups that limits time.
struct Hierarchy {
  bool second;            // of version 2
  std::string root;       // the group that lies at the mount point
  std::string mountPoint; // its folder
};

/// "31 23 0:28 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu"
std::vector<Hierarchy> findHierarchies(const std::string &root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    size_t dash = line.find(" - ");
    if (dash == std::string::npos)
      continue;
    auto before = splitAt(line.substr(0, dash), ' ');
    auto behind = splitAt(line.substr(dash + 3), ' ');
    if (before.size() < 5 || behind.size() < 3)
      continue;
    bool second = behind[0] == "cgroup2";
    if (second || (behind[0] == "cgroup" && contains(behind[2], "cpu")))
      found.push_back({second, unescape(before[3]), unescape(before[4])});
  }
  return found;
}

/// This process's group in that hierarchy: "0::/user.slice", "1:cpu:/docker/7".
std::string findGroup(const std::string &root, bool second) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), last = line.find(':', first + 1);
    if (first == std::string::npos || last == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, last - first - 1);
    if (second ? controllers.empty() : contains(controllers, "cpu"))
      return line.substr(last + 1);
  }
  return "/";
}

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

/// From the process's group up to the mount point: a container sees no further.
void lowerToLimits(const std::string &root, const Hierarchy &hierarchy,
                   CpuQuota &quota) {
  std::string group = findGroup(root, hierarchy.second);
  if (hierarchy.root != "/") // the mount shows a part of the hierarchy
    group = group.compare(0, hierarchy.root.size(), hierarchy.root) == 0
                ? group.substr(hierarchy.root.size())
                : "";
  if (group.find("/..") != std::string::npos) // outside of what is seen
    group.clear();
  for (;; group.erase(group.rfind('/'))) {
    std::string folder = hierarchy.mountPoint + group;
    double limit = readLimit(root + folder, hierarchy.second);
    if (limit > 0 && (quota.cores == 0 || limit < quota.cores))
      quota = {limit, folder};
    if (group.rfind('/') == std::string::npos)
      return;
  }
}

} // namespace

CpuQuota readCpuQuota(const std::string &root) {
  CpuQuota quota;
  for (const Hierarchy &hierarchy : findHierarchies(root))
    lowerToLimits(root, hierarchy, quota);
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
