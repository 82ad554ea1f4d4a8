// Which parameters weight decay leaves alone.
#ifndef ZC_COMPILER_DRIVER_WEIGHTDECAY_H
#define ZC_COMPILER_DRIVER_WEIGHTDECAY_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace zc {

/// Marks the parameters of a train module of whose names (all, of a tied one)
/// one matches. `expression` is a sound regular expression; an empty one
/// matches none, and one that matches no parameter is an error.
mlir::LogicalResult exemptFromDecay(mlir::ModuleOp module,
                                    const std::string &expression);

} // namespace zc

#endif
