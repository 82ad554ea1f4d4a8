//===- ExportTypes.cpp - MLIR's types in the schema's words ---------------===//
#include "compiler/Export/ExportTypes.h"

#include "dialects/Train/Float8Ops.h"

using namespace mlir;

namespace zc {

static plan::DataType getIntegerType(IntegerType type) {
  switch (type.getWidth()) {
  case 1:
    return plan::BOOL;
  case 8:
    return type.isUnsigned() ? plan::U8 : plan::I8;
  case 16:
    return type.isUnsigned() ? plan::U16 : plan::I16;
  case 32:
    return type.isUnsigned() ? plan::U32 : plan::I32;
  case 64:
    return type.isUnsigned() ? plan::U64 : plan::I64;
  default:
    return plan::DATA_TYPE_UNSPECIFIED;
  }
}

plan::DataType getDataType(Type element) {
  if (element.isF32())
    return plan::F32;
  if (element.isF64())
    return plan::F64;
  if (element.isF16())
    return plan::F16;
  if (element.isBF16())
    return plan::BF16;
  if (auto integer = dyn_cast<IntegerType>(element))
    return getIntegerType(integer);
  // To a plan, floats of 8 bits are their bits (kernels/Calls/Matmul.h).
  if (train::isFloat8(element))
    return isa<Float8E5M2Type>(element) ? plan::I8 : plan::U8;
  return plan::DATA_TYPE_UNSPECIFIED;
}

plan::TensorType getTensorType(ShapedType type) {
  plan::TensorType result;
  result.set_dtype(getDataType(type.getElementType()));
  for (int64_t dim : type.getShape())
    result.add_dims(dim);
  return result;
}

plan::TensorType getStoredType(train::StateOp state) {
  plan::TensorType type = getTensorType(state.getWholeType());
  if (state.getSource())
    if (auto element = state.getSource()->getAs<TypeAttr>("type"))
      type.set_dtype(getDataType(element.getValue()));
  return type;
}

void setSource(train::StateOp state, plan::WeightSource &source) {
  source.set_key(state.getSymName().str());
  plan::TensorType stored = getStoredType(state);
  if (stored.dtype() != getDataType(state.getTensorType().getElementType()))
    source.set_dtype(stored.dtype());
}

plan::Sharding getSharding(dist::ShardingAttr sharding) {
  plan::Sharding message;
  for (ArrayAttr axes : sharding.getDims()) {
    plan::DimSharding &dim = *message.add_dims();
    for (auto axis : axes.getAsRange<StringAttr>())
      dim.add_axes(axis.str());
  }
  return message;
}

void addBlocks(train::StateOp state, plan::Sharding &sharding) {
  for (int dim = 0; dim < sharding.dims_size(); ++dim)
    for (int64_t block : dist::getBlocks(state, dim))
      sharding.mutable_dims(dim)->add_blocks(block);
}

} // namespace zc
