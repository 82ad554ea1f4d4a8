//===- OpWords.h - what people call an op -----------------------*- C++ -*-===//
#ifndef ZC_PASSES_ANALYSIS_OPWORDS_H
#define ZC_PASSES_ANALYSIS_OPWORDS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace zc {

/// "layer norm's gradient" of train.layer_norm_grad, "all-gather" of
/// dist.all_gather: machine learning's words for reports.
std::string wordsFor(mlir::Operation *op);

/// "[4, 256, 768]"; "a scalar" of no dims.
std::string wordsFor(mlir::ShapedType type);

/// "the step" of @step and @micro, "evaluation" of @eval.
std::string wordsForProgram(llvm::StringRef name);

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_OPWORDS_H
