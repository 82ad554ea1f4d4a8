// Inputs of a model whose values are given before it is compiled.
#ifndef ZC_COMPILER_IMPORT_INPUTBINDING_H
#define ZC_COMPILER_IMPORT_INPUTBINDING_H

#include "compiler/OnnxModel/Proto.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace zc {

/// Makes inputs initializers; `files` names the serialized TensorProto of each.
llvm::Error bindInputs(proto::GraphProto &graph,
                       const std::map<std::string, std::string> &files);

/// Makes inputs of one element, of any dims, initializers of these numbers.
/// Fails when there is no such input, or its type does not hold the number.
llvm::Error bindInputValues(proto::GraphProto &graph,
                            const std::map<std::string, double> &values);

/// Makes inputs without elements initializers: there is nothing to wait for.
void bindEmptyInputs(proto::GraphProto &graph);

} // namespace zc

#endif
