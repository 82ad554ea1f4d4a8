// How files of samples are named together: "a.npz,b.npz", "part-*.npz".
#ifndef ZC_RUNTIME_IO_DATAPATHS_H
#define ZC_RUNTIME_IO_DATAPATHS_H

#include "runtime/Base/Status.h"

#include <string>
#include <vector>

namespace zc {

/// Whether a path may stand for several files.
bool isPattern(const std::string &path);

/// The paths and patterns that commas divide; the text itself where it is the
/// name of a file.
std::vector<std::string> listPaths(const std::string &text);

/// The files of a path or of a pattern, these in the order of their names.
/// Fails where no file matches the pattern; another path may not exist.
Result<std::vector<std::string>> expandPath(const std::string &path);

} // namespace zc

#endif // ZC_RUNTIME_IO_DATAPATHS_H
