//===- EpilogueRegion.h - products with an epilogue, made anew --*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_CUDA_EPILOGUEREGION_H
#define ZC_PASSES_FUSION_CUDA_EPILOGUEREGION_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/IRMapping.h"

namespace zc::cuda {

/// The op of a region that the library computes as a product of two matrices of
/// one type, without an epilogue yet; or null.
train::MatmulOp plainProduct(train::FusedOp region);

/// A region like `product`, with another interface and epilogue; its body is
/// empty.
train::FusedOp createLike(mlir::OpBuilder &builder, train::FusedOp product,
                          mlir::Location loc, mlir::TypeRange types,
                          mlir::ValueRange inputs,
                          mlir::DictionaryAttr epilogue);

/// The only block of a region that has none yet, with the inputs as arguments.
mlir::Block &addBlock(train::FusedOp region);

/// Copies the body of `source` to the end of the new region's block, whose
/// first arguments are the source's.
void cloneBody(train::FusedOp source, mlir::Block &block,
               mlir::IRMapping &mapping);

/// A result of `region` that says where its first result, a ReLU's, lets
/// gradients pass: a bit an element, [M, N / 8] bytes, in the order of the
/// library, which alone reads them. A region with this result takes the place
/// of one without, which is dead then.
mlir::Value keepSigns(train::FusedOp region);

/// The product behind which the library computes the ReLU that is `value`,
/// perhaps seen as another shape, if its bits can be kept: rows of a multiple
/// of 128 elements. Or null.
train::FusedOp findRelu(mlir::Value value);

} // namespace zc::cuda

#endif // ZC_PASSES_FUSION_CUDA_EPILOGUEREGION_H
