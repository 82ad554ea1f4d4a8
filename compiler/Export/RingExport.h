//===- RingExport.h - what micro-batches keep, as plan messages -*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_RINGEXPORT_H
#define ZC_COMPILER_EXPORT_RINGEXPORT_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// The number of a flight state's ring among those of its role.
uint32_t getRingIndex(train::StateOp state);

/// Writes the rings and messages of a role, whose flight states have offsets.
/// Rings get their slots, and messages lines that agree, from buildOrders().
void addRingsAndMessages(mlir::ModuleOp role, plan::Role &message);

/// Calls both ends of a message, and of its gradient's, by the node of the
/// value as the receiver reads it: the sender may have fused that node with
/// others.
void nameMessages(plan::Manifest &manifest);

/// Numbers the lines: one for each pair of stages, direction and kind.
void numberLines(plan::Manifest &manifest);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_RINGEXPORT_H
