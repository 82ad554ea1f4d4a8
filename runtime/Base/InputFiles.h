// The files that a command reads, so that it does not write over them.
#ifndef ZC_RUNTIME_BASE_INPUTFILES_H
#define ZC_RUNTIME_BASE_INPUTFILES_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace zc {

/// Files are told apart by device and inode: another spelling of a path and a
/// link of either kind are the same file. Devices and pipes are none of them.
class InputFiles {
public:
  /// A path that leads to no regular file is not remembered: what is wrong with
  /// it shows when it is read.
  void add(const std::string &path);

  /// The files that lie in the folder itself.
  void addFolder(const std::string &path);

  /// Fails when writing `output`, which `option` names, would destroy an input.
  Status check(const std::string &option, const std::string &output) const;

private:
  std::map<std::pair<uint64_t, uint64_t>, std::string> names; // by identity
};

} // namespace zc

#endif // ZC_RUNTIME_BASE_INPUTFILES_H
