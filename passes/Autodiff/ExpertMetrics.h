//===- ExpertMetrics.h - how a router spreads its tokens --------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_EXPERTMETRICS_H
#define ZC_PASSES_AUTODIFF_EXPERTMETRICS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace zc {

/// Adds to a step with layers of experts the metric `moe_tokens` [layers,
/// experts], float32: how many rows each chose; and, where rooms are limited,
/// `moe_overflow` [1]: how many rows found none, in all layers. If layers
/// differ in their numbers of experts, only those with the first layer's count.
/// Both are sums over samples. With `byLayer` each layer has metrics of its own
/// instead, of the names that getLayerMetric() gives, [1, experts] and [1]:
/// layers of a pipeline are in several roles.
void addExpertMetrics(mlir::func::FuncOp step, bool byLayer);

/// The name of the metric of one layer, counted from 0.
std::string getLayerMetric(llvm::StringRef metric, int64_t layer);

/// `moe_tokens` or `moe_overflow`, where `name` is that of one layer; else "".
llvm::StringRef findLayerMetric(llvm::StringRef name);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_EXPERTMETRICS_H
