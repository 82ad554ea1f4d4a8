#include "compiler/Import/Types.h"

#include "compiler/OnnxModel/ModelFile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zc;
using Data = proto::TensorProto;

Type zc::convertElementType(MLIRContext *context, int32_t dataType) {
  auto integer = [&](unsigned width, bool isUnsigned = false) {
    return IntegerType::get(context, width,
                            isUnsigned ? IntegerType::Unsigned
                                       : IntegerType::Signless);
  };
  switch (dataType) {
  case Data::FLOAT:
    return Float32Type::get(context);
  case Data::DOUBLE:
    return Float64Type::get(context);
  case Data::FLOAT16:
    return Float16Type::get(context);
  case Data::BFLOAT16:
    return BFloat16Type::get(context);
  case Data::BOOL:
    return integer(1);
  case Data::INT8:
  case Data::INT4:
  case Data::INT2:
    return integer(8);
  case Data::INT16:
    return integer(16);
  case Data::INT32:
    return integer(32);
  case Data::INT64:
    return integer(64);
  case Data::UINT8:
  case Data::UINT4:
  case Data::UINT2:
  case Data::FLOAT8E4M3FN: // their bits
  case Data::FLOAT8E4M3FNUZ:
  case Data::FLOAT8E5M2:
  case Data::FLOAT8E5M2FNUZ:
  case Data::FLOAT8E8M0:
  case Data::FLOAT4E2M1:
    return integer(8, true);
  case Data::UINT16:
    return integer(16, true);
  case Data::UINT32:
    return integer(32, true);
  case Data::UINT64:
    return integer(64, true);
  default:
    return {};
  }
}

Dims zc::getDims(const proto::TensorProto &tensor) {
  return Dims(tensor.dims().begin(), tensor.dims().end());
}

std::optional<Dims> zc::getStaticDims(const proto::TypeProto &type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape())
    return std::nullopt;
  Dims dims;
  for (const auto &dim : type.tensor_type().shape().dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 0)
      return std::nullopt;
    dims.push_back(dim.dim_value());
  }
  return dims;
}

RankedTensorType zc::convertType(MLIRContext *context,
                                 const proto::TypeProto &type) {
  std::optional<Dims> dims = getStaticDims(type);
  Type element = convertElementType(context, type.tensor_type().elem_type());
  return dims && element ? RankedTensorType::get(*dims, element)
                         : RankedTensorType();
}

std::string zc::printType(const proto::TypeProto &type) {
  if (!type.has_tensor_type())
    return "a type that is no tensor";
  std::string text = getTypeName(type.tensor_type().elem_type());
  if (!type.tensor_type().has_shape())
    return text + " of unknown shape";
  std::vector<std::string> dims;
  for (const auto &dim : type.tensor_type().shape().dim())
    dims.push_back(dim.has_dim_value()   ? std::to_string(dim.dim_value())
                   : dim.has_dim_param() ? dim.dim_param()
                                         : "?");
  return text + "[" + llvm::join(dims, ", ") + "]";
}

proto::TypeProto zc::makeTensorType(int32_t dataType, ArrayRef<int64_t> dims) {
  proto::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(dataType);
  auto *shape = type.mutable_tensor_type()->mutable_shape();
  for (int64_t dim : dims)
    shape->add_dim()->set_dim_value(dim);
  return type;
}

DenseElementsAttr zc::makeElements(MLIRContext *context,
                                   const HostTensor &tensor) {
  auto type = RankedTensorType::get(
      tensor.stored, convertElementType(context, tensor.dataType));
  if (tensor.dataType == Data::BOOL) {
    // MLIR packs bools into bits; let it.
    SmallVector<bool> values(tensor.ints.begin(), tensor.ints.end());
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  std::string bytes = tensor.toBytes();
  HostTensor once = tensor.compressed();
  if (tensor.getNumStored() > 1 && once.getNumStored() == 1)
    bytes = once.toBytes(); // a splat
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef<char>(bytes.data(), bytes.size()));
}

proto::TensorProto zc::makeTensor(const HostTensor &tensor) {
  proto::TensorProto proto;
  proto.set_data_type(tensor.dataType);
  for (int64_t dim : tensor.dims)
    proto.add_dims(dim);
  proto.set_raw_data(tensor.dense().toBytes());
  return proto;
}
