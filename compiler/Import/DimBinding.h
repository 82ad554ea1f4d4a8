// Sizes for the symbolic dims of a model's inputs.
#ifndef ZC_COMPILER_IMPORT_DIMBINDING_H
#define ZC_COMPILER_IMPORT_DIMBINDING_H

#include "compiler/OnnxModel/Proto.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace zc {

/// Replaces every symbolic dim of the graph's inputs by its size in `sizes`. A
/// dim without size and name is called "INPUT.K", and so may one with a name
/// be. Fails, naming every dim without a size and what to type, or every size
/// whose name is neither a dim's nor that of the length of a selection.
llvm::Error bindDims(proto::GraphProto &graph,
                     std::map<std::string, int64_t> sizes);

/// Whether the length of the selection (NonZero, Compress, Unique) that gives
/// the value `output` is called `name`: after the value and its dim, "y.0", or
/// as the file calls it.
bool namesLength(const proto::GraphProto &graph, const std::string &output,
                 int64_t dim, const std::string &name);

} // namespace zc

#endif
