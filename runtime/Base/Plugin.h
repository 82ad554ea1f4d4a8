// Shared libraries of ours that are opened on demand, so that programs start
// without what these need.
#ifndef ZC_RUNTIME_BASE_PLUGIN_H
#define ZC_RUNTIME_BASE_PLUGIN_H

#include "runtime/Base/Status.h"

namespace zc {

/// An opened library; it stays open until the program ends.
struct PluginLibrary {
  std::string path;
  void *handle;

  /// Null when the library has no such symbol.
  void *symbol(const char *name) const;
};

/// Opens `libzc_<kind>.so`, which is looked for in the folder ZC_PLUGIN_PATH,
/// or else in the folder of libzc.so where this is a part of that, in ../lib
/// beside the program's folder where it is not, and in the folder `zc` there.
/// `what` names it in messages: "device 'cpu'".
Result<PluginLibrary> openPlugin(const std::string &kind,
                                 const std::string &what);

} // namespace zc

#endif // ZC_RUNTIME_BASE_PLUGIN_H
