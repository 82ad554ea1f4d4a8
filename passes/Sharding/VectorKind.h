//===- VectorKind.h - which parameters share a ZeRO unit --------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_VECTORKIND_H
#define ZC_PASSES_SHARDING_VECTORKIND_H

#include "dialects/Dist/Shares.h"
#include "dialects/Train/TrainDialect.h"

namespace zc {

/// Parameters of one kind may follow one another in a unit's vector: one
/// element type, of their copies too, decayed and drawn alike, divided over the
/// same axes, held by the same roles of a pipeline.
mlir::Attribute getVectorKind(train::StateOp state,
                              const dist::ShareRule &shares);

} // namespace zc

#endif // ZC_PASSES_SHARDING_VECTORKIND_H
