// The control groups that this process is in: folders of the system with its
// limits, of version 1, version 2, or both.
#ifndef ZC_RUNTIME_BASE_CONTROLGROUPS_H
#define ZC_RUNTIME_BASE_CONTROLGROUPS_H

#include <string>
#include <vector>

namespace zc {

struct ControlGroup {
  bool second;        // of version 2
  std::string folder; // as processes see it
};

/// The groups in which `controller` ("cpu", "memory") may have limits: from the
/// process's own up to the outermost one that can be seen, for a container sees
/// no further. `root` is where /proc and /sys are looked for.
std::vector<ControlGroup> findControlGroups(const std::string &controller,
                                            const std::string &root = "");

} // namespace zc

#endif // ZC_RUNTIME_BASE_CONTROLGROUPS_H
