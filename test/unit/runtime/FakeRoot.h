// A folder that stands for the root of a machine.
#ifndef ZC_TEST_UNIT_RUNTIME_FAKEROOT_H
#define ZC_TEST_UNIT_RUNTIME_FAKEROOT_H

#include "test/unit/runtime/TinyArtifact.h"

#include <filesystem>
#include <fstream>

namespace zc::test {

/// A root folder with files of /proc and /sys.
class FakeRoot {
public:
  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file(folder.path(path));
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string path() const { return folder.path(""); }

  /// Mounts the hierarchies of control groups that these lines of mountinfo
  /// name, and puts this process into the groups that `groups` says.
  void joinGroups(const std::string &mounts, const std::string &groups) {
    write("proc/self/mountinfo", mounts);
    write("proc/self/cgroup", groups);
  }
  /// Joins a group of the second version alone.
  void joinGroup(const std::string &group) {
    joinGroups(kSecondMount, "0::" + group + "\n");
  }

  static constexpr const char *kSecondMount =
      "25 20 0:22 / /proc rw - proc proc rw\n"
      "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

private:
  TemporaryFolder folder;
};

} // namespace zc::test

#endif
