//===- TiledOp.h - an op whose code says what threads do --------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_TILEDOP_H
#define ZC_PASSES_CODEGEN_CUDA_TILEDOP_H

#include "passes/Codegen/Cuda/DeviceCode.h"

namespace zc::cuda {

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// A tensor's buffer without its dims.
inline mlir::MemRefType flatBuffer(mlir::RankedTensorType type) {
  return mlir::MemRefType::get({type.getNumElements()}, type.getElementType());
}

/// The code of an op whose threads have tiles of their own.
class TiledOp {
public:
  virtual ~TiledOp() = default;

  virtual int64_t teams() const = 0;
  virtual int64_t threads() const = 0;
  /// The buffer that holds the operand, or behind them the result, `number`: of
  /// as many bytes as its tensor, in whatever elements suit the code.
  virtual mlir::MemRefType bufferType(unsigned number) const = 0;
  /// Builds the work of one thread of team `team`.
  virtual void build(DeviceCode code, mlir::ValueRange buffers,
                     mlir::Value team) = 0;
};

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_TILEDOP_H
