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

private:
  TemporaryFolder folder;
};

} // namespace zc::test

#endif
