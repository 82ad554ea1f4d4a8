//===- ExpertTiles.h - what computes experts' rows on GPUs ------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_EXPERTTILES_H
#define ZC_PASSES_CODEGEN_CUDA_EXPERTTILES_H

#include "dialects/Train/ExpertOps.h"
#include "passes/Codegen/Cuda/DeviceCode.h"
#include "passes/Codegen/Cuda/TileProduct.h"

#include <memory>

namespace zc::cuda {

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

/// The place in an order at which the rows of `expert` begin, which is where
/// those before it end.
inline mlir::Value findBegin(DeviceCode &code, mlir::Value ends,
                             mlir::Value expert) {
  mlir::Value none = code.index(0), isFirst = code.equal(expert, none);
  mlir::Value before =
      code.select(isFirst, none, code.sub(expert, code.index(1)));
  return code.select(isFirst, none, code.loadIndex(ends, before));
}

std::unique_ptr<TiledOp> makeExpertOrder(train::ExpertOrderOp op);
std::unique_ptr<TiledOp> makeGroupedProduct(train::GroupedMatmulOp op);
std::unique_ptr<TiledOp> makeGroupedGradient(train::GroupedMatmulGradOp op);

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_EXPERTTILES_H
