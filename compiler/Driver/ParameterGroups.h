// Parameters that the optimizer treats otherwise than the rest.
#ifndef ZC_COMPILER_DRIVER_PARAMETERGROUPS_H
#define ZC_COMPILER_DRIVER_PARAMETERGROUPS_H

#include "passes/Autodiff/ParameterGroup.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace zc {

/// Marks the parameters of a train module of whose names (all, of a tied one)
/// one matches. `expression` is a sound regular expression; an empty one
/// matches none, and one that matches no parameter is an error.
mlir::LogicalResult exemptFromDecay(mlir::ModuleOp module,
                                    const std::string &expression);

/// --group, "REGEX:lr=0.1x,weight-decay=0": the expression and what it says.
struct GroupOption {
  std::string expression;
  ParameterGroup group;

  static llvm::Expected<GroupOption> parse(const std::string &text);
};

/// Marks each parameter of a train module with the first group that matches one
/// of its names. A group that has no parameter is an error.
mlir::LogicalResult applyGroups(mlir::ModuleOp module,
                                const std::vector<std::string> &groups);

} // namespace zc

#endif
