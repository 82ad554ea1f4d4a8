// ONNX's own classes are `proto::` in zc, where `onnx::` is the dialect.
#ifndef ZC_COMPILER_ONNXMODEL_PROTO_H
#define ZC_COMPILER_ONNXMODEL_PROTO_H

#include "onnx/onnx_pb.h"

namespace zc {
namespace proto = ::onnx;
} // namespace zc

#endif
