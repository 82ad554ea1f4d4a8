//===- StackedParameters.h - parameters of one expert each ------*- C++ -*-===//
#ifndef ZC_PASSES_EXPERTS_STACKEDPARAMETERS_H
#define ZC_PASSES_EXPERTS_STACKEDPARAMETERS_H

#include "dialects/Train/TrainDialect.h"

namespace zc {

/// The parameter that `stacked`, [experts, ..], is, or the vector that it is a
/// view of; null for a value that is computed.
train::StateOp findStacked(mlir::Value stacked);

/// Makes one vector of parameters that a program stacks, one of each expert,
/// and of the stack a view of it: ranks may divide it by experts. Files go on
/// to know the parameters by their names. Null, and nothing done, where
/// `stacked` is something else, or the parameters differ in more than their
/// names.
train::StateOp packStacked(mlir::Value stacked);

} // namespace zc

#endif // ZC_PASSES_EXPERTS_STACKEDPARAMETERS_H
