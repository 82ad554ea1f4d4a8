//===- CrossEntropySupport.h - the loss and its gradient --------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_CROSSENTROPYSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_CROSSENTROPYSUPPORT_H

#include "dialects/Train/Ops/LoopSupport.h"

#include <limits>
#include <optional>

namespace zc::train {

/// Checks logits [samples..., classes] against labels [samples...].
mlir::LogicalResult verifyCrossEntropy(mlir::Operation *op,
                                       mlir::RankedTensorType logits,
                                       mlir::RankedTensorType labels);

/// Samples are parallel, classes whole, nothing linear.
ShardingRule crossEntropyShardingRule(mlir::Operation *op,
                                      mlir::RankedTensorType logits);

/// The same with the classes divided, in the last factor.
ShardingRule crossEntropyFinerRule(mlir::Operation *op,
                                   mlir::RankedTensorType logits,
                                   FactorKind classes);

/// Logits and labels of a loss whose classes are divided.
struct ClassParts {
  mlir::Value logits; // [samples..., parts, classes / parts]
  /// [samples..., parts]: as each part counts its own classes, -1 where the
  /// class is another part's.
  mlir::Value labels;
};

/// Logits [samples..., classes] and labels [samples...] in `count` parts of the
/// classes; nothing where there is one part or one class a part.
std::optional<ClassParts> splitClasses(mlir::OpBuilder &builder,
                                       mlir::Location loc, mlir::Value logits,
                                       mlir::Value labels, int64_t count);

/// i1 [samples...]: whether a label is `ignoreIndex`.
mlir::Value compareIgnored(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value labels, int64_t ignoreIndex);

/// No label is this; parts ignore none.
constexpr int64_t kIgnoreNone = std::numeric_limits<int64_t>::min();

/// Whether a label is a class.
mlir::Value buildIsClass(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value label, int64_t classes);

/// Whether a label says that its sample does not count.
mlir::Value buildIsIgnored(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value label, int64_t ignoreIndex);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_CROSSENTROPYSUPPORT_H
