#ifndef ZC_DIALECTS_ONNX_ONNXDIALECT_TD
#define ZC_DIALECTS_ONNX_ONNXDIALECT_TD

include "mlir/IR/OpBase.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let summary = "An ONNX model after import: static shapes, author's names";
  let description = [{
    The first rung of the ladder: what the file says, and nothing else. All
    operators are one generic operation, `onnx.node`, so the dialect never
    changes when ONNX grows; lowerings in passes/Import are keyed by domain,
    operator and since-version.

    After import all types are static, shape arithmetic is folded, functions are
    inlined, and every location leads to the author's node and module (see
    dialects/Onnx/Location.h).
  }];
  let cppNamespace = "::zc::onnx";
  let useDefaultAttributePrinterParser = 1;
}

#endif
