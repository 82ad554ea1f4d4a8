// The types of one node's results, by ONNX's own rules.
#ifndef ZC_COMPILER_IMPORT_NODEINFERENCE_H
#define ZC_COMPILER_IMPORT_NODEINFERENCE_H

#include "compiler/Import/HostTensor.h"
#include "compiler/OnnxModel/Proto.h"
#include "onnx/defs/schema.h"
#include "llvm/Support/Error.h"

namespace zc {

/// The facts known about an operand; `type` is null for an absent one.
struct OperandFacts {
  const proto::TypeProto *type = nullptr;
  const HostTensor *value = nullptr;
};

/// The types of the node's results as far as the schema can tell from the types
/// and values of the operands. Fails when the operands do not fit the operator.
llvm::Expected<std::vector<proto::TypeProto>>
inferResultTypes(const proto::OpSchema &schema, const proto::NodeProto &node,
                 llvm::ArrayRef<OperandFacts> operands);

} // namespace zc

#endif
