//===- ExportTypes.h - MLIR's types in the schema's words -------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_EXPORTTYPES_H
#define ZC_COMPILER_EXPORT_EXPORTTYPES_H

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/Plan/Manifest.pb.h"

namespace zc {

/// The schema's name of an element type; unspecified for one it lacks.
plan::DataType getDataType(mlir::Type element);

/// A tensor or memref of static shape.
plan::TensorType getTensorType(mlir::ShapedType type);

/// The whole tensor as the model's files have it: a parameter may be wider.
plan::TensorType getStoredType(train::StateOp state);

/// Says where the initial value of a state is, and of which type.
void setSource(train::StateOp state, plan::WeightSource &source);

/// How a tensor's dims are divided.
plan::Sharding getSharding(dist::ShardingAttr sharding);

/// Adds the blocks that a state's dims consist of to how they are divided.
void addBlocks(train::StateOp state, plan::Sharding &sharding);

/// Says in `message`, a state or an input, how the whole of what `op` stands
/// for is divided; returns whether it is.
template <typename Message>
bool setDivision(mlir::Operation *op, Message &message) {
  auto sharding = op->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
  auto whole = op->getAttrOfType<mlir::TypeAttr>(dist::kWholeAttr);
  if (!sharding || !whole)
    return false;
  *message.mutable_sharding() = getSharding(sharding);
  if (auto state = llvm::dyn_cast<train::StateOp>(op))
    addBlocks(state, *message.mutable_sharding());
  auto type = llvm::cast<mlir::ShapedType>(whole.getValue());
  for (int64_t size : type.getShape())
    message.add_whole_dims(size);
  return true;
}

} // namespace zc

#endif // ZC_COMPILER_EXPORT_EXPORTTYPES_H
