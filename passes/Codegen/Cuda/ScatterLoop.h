//===- ScatterLoop.h - slices of a table, one after the other ---*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_SCATTERLOOP_H
#define ZC_PASSES_CODEGEN_CUDA_SCATTERLOOP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace zc::cuda {

/// A loop that does nothing but change a slice of a buffer, element by element,
/// at a place that it reads from memory which it does not write.
struct ScatterLoop {
  mlir::linalg::LinalgOp update;
  mlir::Value row; // the slice's place
};

/// `loop` as one, or nothing. Slices at different places have no element in
/// common: they may be changed at the same time, those at one place in turn.
std::optional<ScatterLoop> findScatter(mlir::scf::ForOp loop);

/// Whether a block of `function` is one such loop and, at most, an op in front
/// of it that writes the table, each row of it from nothing but that row.
bool isScatterAlone(mlir::func::FuncOp function);

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_SCATTERLOOP_H
