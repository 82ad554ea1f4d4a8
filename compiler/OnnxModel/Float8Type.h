// ONNX's types of floats of eight or four bits.
#ifndef ZC_COMPILER_ONNXMODEL_FLOAT8TYPE_H
#define ZC_COMPILER_ONNXMODEL_FLOAT8TYPE_H

#include "compiler/OnnxModel/Proto.h"

namespace zc {

/// Whether it is a float of eight or four bits, which zc holds as its bits, one
/// element a byte.
inline bool isFloat8Type(int32_t dataType) {
  switch (dataType) {
  case proto::TensorProto::FLOAT8E4M3FN:
  case proto::TensorProto::FLOAT8E4M3FNUZ:
  case proto::TensorProto::FLOAT8E5M2:
  case proto::TensorProto::FLOAT8E5M2FNUZ:
  case proto::TensorProto::FLOAT8E8M0:
  case proto::TensorProto::FLOAT4E2M1:
    return true;
  default:
    return false;
  }
}

} // namespace zc

#endif
