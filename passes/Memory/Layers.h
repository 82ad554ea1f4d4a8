//===- Layers.h - where a network may be cut --------------------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_LAYERS_H
#define ZC_PASSES_MEMORY_LAYERS_H

#include "passes/Memory/StepAnalysis.h"

namespace zc {

/// For every forward op in order, the layer it belongs to, from 0 and never
/// falling. Layers are read off the modules' names, else they end where a
/// single value crosses.
llvm::SmallVector<unsigned> findLayers(const StepAnalysis &analysis);

} // namespace zc

#endif // ZC_PASSES_MEMORY_LAYERS_H
