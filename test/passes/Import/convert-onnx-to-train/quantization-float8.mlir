// Tests that 8-bit floats are read from the numbers that were rounded, and not
// from their bits, and that no op behind the lowering is marked as such.
// RUN: zc-opt %s --zc-convert-onnx-to-train | FileCheck %s
onnx.graph @main(%x: tensor<6xf32>) -> (tensor<6xui8>, tensor<6xf32>)
    attributes {input_names = ["x"], output_names = ["bits", "pair"], opset_imports = {"ai.onnx" = 21 : i64}} {
  %one = onnx.initializer @one {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %two = onnx.initializer @two {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %zero = onnx.initializer @zero {value = dense<0> : tensor<ui8>} : tensor<ui8>
  %bits = onnx.node "QuantizeLinear"(%x, %one, %zero) {since_version = 21 : i64, node_attributes = {zc.float8 = "float8e4m3fn", zc.float8.2 = "float8e4m3fn"}}
      : (tensor<6xf32>, tensor<f32>, tensor<ui8>) -> tensor<6xui8>
  %pair = onnx.node "DequantizeLinear"(%bits, %two, %zero) {since_version = 21 : i64, node_attributes = {zc.float8.0 = "float8e4m3fn", zc.float8.2 = "float8e4m3fn"}}
      : (tensor<6xui8>, tensor<f32>, tensor<ui8>) -> tensor<6xf32>
  onnx.return %bits, %pair : tensor<6xui8>, tensor<6xf32>
}
// CHECK-LABEL: func.func @forward
// CHECK-NOT: rounded
// CHECK: return
