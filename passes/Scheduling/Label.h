//===- Label.h - what people call an instruction ----------------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_LABEL_H
#define ZC_PASSES_SCHEDULING_LABEL_H

#include "dialects/Train/TrainDialect.h"

#include <string>

namespace zc {

/// "train.add+gelu layers.0.mlp/Gelu": the region's ops and where they come
/// from in the author's model. `fallback` stands for the place where none is
/// known.
std::string makeLabel(train::FusedOp op, llvm::StringRef fallback);

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_LABEL_H
