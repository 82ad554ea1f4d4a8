//===- StateLookup.h - from a program's arguments to the states -*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_STATELOOKUP_H
#define ZC_DIALECTS_TRAIN_STATELOOKUP_H

#include "dialects/Train/TrainDialect.h"

namespace zc::train {

/// The state that `symbol` names, seen from the op `inside`; null where it
/// names none or is itself null.
StateOp findState(mlir::Operation *inside, mlir::Attribute symbol);

/// The state that a value is as an argument of its program; null for others.
StateOp findState(mlir::Value value);

/// The elements of a constant, or of the constant state that a value is as an
/// argument of its program; null for others.
mlir::DenseElementsAttr findConstant(mlir::Value value);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_STATELOOKUP_H
