// NVIDIA's libraries, opened on demand from wherever they are installed.
#ifndef ZC_RUNTIME_DEVICE_CUDA_LIBRARY_H
#define ZC_RUNTIME_DEVICE_CUDA_LIBRARY_H

#include "runtime/Base/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace zc::cuda {

/// Opens `name` ("libcublasLt.so.13"), looked for in the folders of
/// ZC_CUDA_LIBRARY_PATH (colons between them), by the loader, in $CUDA_HOME and
/// /usr/local/cuda, and in the folders of PyPI's nvidia packages: of
/// $VIRTUAL_ENV and of the system's Python. The error says all of that.
Result<void *> openLibrary(const std::string &name);

/// The folders that are searched, in order; those that do not exist as well.
std::vector<std::string> libraryFolders();

/// Fills a table of functions: `symbols` are pairs of a name and a place.
Status
findSymbols(void *library, const std::string &name,
            const std::vector<std::pair<const char *, void **>> &symbols);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_LIBRARY_H
