#include "runtime/Base/ControlGroups.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace zc {

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

/// A hierarchy of control groups that may limit it.
struct Hierarchy {
  bool second;            // of version 2
  std::string root;       // the group that lies at the mount point
  std::string mountPoint; // its folder
};

/// "31 23 0:28 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu"
std::vector<Hierarchy> findHierarchies(const std::string &controller,
                                       const std::string &root) {
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
    if (second || (behind[0] == "cgroup" && contains(behind[2], controller)))
      found.push_back({second, unescape(before[3]), unescape(before[4])});
  }
  return found;
}

/// This process's group in that hierarchy: "0::/user.slice", "1:cpu:/docker/7".
std::string findGroup(const std::string &controller, const std::string &root,
                      bool second) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), last = line.find(':', first + 1);
    if (first == std::string::npos || last == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, last - first - 1);
    if (second ? controllers.empty() : contains(controllers, controller))
      return line.substr(last + 1);
  }
  return "/";
}

/// From the process's group up to the mount point.
void addGroups(const std::string &controller, const std::string &root,
               const Hierarchy &hierarchy, std::vector<ControlGroup> &groups) {
  std::string group = findGroup(controller, root, hierarchy.second);
  if (hierarchy.root != "/") // the mount shows a part of the hierarchy
    group = group.compare(0, hierarchy.root.size(), hierarchy.root) == 0
                ? group.substr(hierarchy.root.size())
                : "";
  if (group.find("/..") != std::string::npos) // outside of what is seen
    group.clear();
  if (group == "/")
    group.clear();
  for (;; group.erase(group.rfind('/'))) {
    groups.push_back({hierarchy.second, hierarchy.mountPoint + group});
    if (group.rfind('/') == std::string::npos)
      return;
  }
}

} // namespace

std::vector<ControlGroup> findControlGroups(const std::string &controller,
                                            const std::string &root) {
  std::vector<ControlGroup> groups;
  for (const Hierarchy &hierarchy : findHierarchies(controller, root))
    addGroups(controller, root, hierarchy, groups);
  return groups;
}

} // namespace zc
