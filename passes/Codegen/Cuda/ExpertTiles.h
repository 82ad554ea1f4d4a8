//===- ExpertTiles.h - what computes experts' rows on GPUs ------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_EXPERTTILES_H
#define ZC_PASSES_CODEGEN_CUDA_EXPERTTILES_H

#include "dialects/Train/ExpertOps.h"
#include "passes/Codegen/Cuda/TileProduct.h"
#include "passes/Codegen/Cuda/TiledOp.h"

#include <memory>

namespace zc::cuda {

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
