//===- Segments.h - the parts of a step that stages are made of -*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_SEGMENTS_H
#define ZC_PASSES_PIPELINE_SEGMENTS_H

#include "dialects/Train/TrainDialect.h"
#include "passes/Pipeline/Replicas.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace zc {

/// The states that placed ops read, directly or through ops that every role
/// computes for itself.
class StateReads {
public:
  explicit StateReads(llvm::ArrayRef<mlir::Operation *> placed)
      : placed(placed.begin(), placed.end()) {}

  /// In the order of the op's operands; for a copy, its parameter, too.
  llvm::SetVector<train::StateOp> find(mlir::Operation *op) const;

  /// Whether one of them is a trained parameter.
  bool trains(mlir::Operation *op) const;

private:
  llvm::DenseSet<mlir::Operation *> placed;
};

/// The memory of a rank of a role, and how states use it.
struct StageMemory {
  double bytes = 0;             // that it has; 0: any
  double bytesPerParameter = 0; // of an element that is trained, for all that
                                // is kept of it from step to step
  int64_t sampleShares = 1;     // the ranks of a role that divide its samples
  /// Between the passes only what crosses into a layer is kept.
  bool keepsCrossing = false;
};

/// Placed ops that are never cut apart.
struct Piece {
  llvm::SmallVector<mlir::Operation *> ops;
  Segment segment;
};

/// The name of the node that an op comes from; empty: none is known.
llvm::StringRef getNodeName(mlir::Operation *op);

/// The seconds that both passes of an op take.
double estimateBothPasses(mlir::Operation *op);

/// Cuts the placed ops of @step where few bytes cross, for so many stages:
/// between layers if there are enough of them. In the ops' order. Where
/// `memory` has a limit, the segments say what they take of it, and `limit` is
/// filled in but for what is in flight; so it is where `replicas` is not null,
/// which is filled in as well.
llvm::SmallVector<Piece> cutSegments(mlir::func::FuncOp step,
                                     llvm::ArrayRef<mlir::Operation *> placed,
                                     int64_t stages, const StageMemory &memory,
                                     MemoryLimit &limit,
                                     ReplicaCosts *replicas = nullptr);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_SEGMENTS_H
