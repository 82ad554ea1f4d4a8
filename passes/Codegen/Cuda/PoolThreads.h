//===- PoolThreads.h - max poolings on GPUs ---------------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_POOLTHREADS_H
#define ZC_PASSES_CODEGEN_CUDA_POOLTHREADS_H

#include "dialects/Train/TrainDialect.h"
#include "passes/Codegen/Cuda/TiledOp.h"

#include <memory>

namespace zc::cuda {

std::unique_ptr<TiledOp> makeMaxPoolPlaces(train::MaxPoolPlacesOp op);
std::unique_ptr<TiledOp> makeMaxPoolPlacesGrad(train::MaxPoolPlacesGradOp op);

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_POOLTHREADS_H
