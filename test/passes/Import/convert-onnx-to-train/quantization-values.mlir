// Tests rounding to whole numbers: halves, both ends of the type's range, blocks whose last one is shorter, and types of four bits.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<6xui8>, tensor<6xi8>, tensor<6xf64>, tensor<5xf64>, tensor<3xui8>, tensor<f64>, tensor<ui8>)
    attributes {input_names = [], output_names = ["bytes", "nibbles", "pair", "blocks", "dynamic", "dynamic_scale", "dynamic_zero"], opset_imports = {"ai.onnx" = 21 : i64}} {
  %x = onnx.initializer @x {value = dense<[0.5, 1.5, -2.5, 300.0, -300.0, 6.9]> : tensor<6xf64>} : tensor<6xf64>
  %one = onnx.initializer @one {value = dense<1.0> : tensor<f64>} : tensor<f64>
  %two = onnx.initializer @two {value = dense<2.0> : tensor<f64>} : tensor<f64>
  %zero = onnx.initializer @zero {value = dense<10> : tensor<ui8>} : tensor<ui8>
  %four = onnx.initializer @four {value = dense<1> : tensor<i8>} : tensor<i8>
  %w = onnx.initializer @w {value = dense<[1, 2, 3, 4, 5]> : tensor<5xi8>} : tensor<5xi8>
  %scales = onnx.initializer @scales {value = dense<[1.0, 10.0, 100.0]> : tensor<3xf64>} : tensor<3xf64>
  %bytes = onnx.node "QuantizeLinear"(%x, %one, %zero) {since_version = 21 : i64}
      : (tensor<6xf64>, tensor<f64>, tensor<ui8>) -> tensor<6xui8>
  // CHECK: {{^}}bytes: i [6] = 10 12 8 255 0 17{{$}}
  %nibbles = onnx.node "QuantizeLinear"(%x, %one, %four) {since_version = 21 : i64, node_attributes = {zc.packed_bits = 4 : i64}}
      : (tensor<6xf64>, tensor<f64>, tensor<i8>) -> tensor<6xi8>
  // CHECK: {{^}}nibbles: i [6] = 1 3 -1 7 -8 7{{$}}
  %pair = onnx.node "DequantizeLinear"(%bytes, %two, %zero) {since_version = 21 : i64}
      : (tensor<6xui8>, tensor<f64>, tensor<ui8>) -> tensor<6xf64>
  // CHECK: {{^}}pair: f [6] = 0 4 -4 490 -20 14{{$}}
  %blocks = onnx.node "DequantizeLinear"(%w, %scales) {since_version = 21 : i64, node_attributes = {axis = 0 : i64, block_size = 2 : i64}}
      : (tensor<5xi8>, tensor<3xf64>) -> tensor<5xf64>
  // CHECK: {{^}}blocks: f [5] = 1 2 30 40 500{{$}}
  %range = onnx.initializer @range {value = dense<[-51.0, 1.6, 204.0]> : tensor<3xf64>} : tensor<3xf64>
  %dynamic:3 = onnx.node "DynamicQuantizeLinear"(%range) {since_version = 11 : i64}
      : (tensor<3xf64>) -> (tensor<3xui8>, tensor<f64>, tensor<ui8>)
  // CHECK: {{^}}dynamic: i [3] = 0 53 255{{$}}
  // CHECK: {{^}}dynamic_scale: f [] = 1{{$}}
  // CHECK: {{^}}dynamic_zero: i [] = 51{{$}}
  onnx.return %bytes, %nibbles, %pair, %blocks, %dynamic#0, %dynamic#1, %dynamic#2 : tensor<6xui8>, tensor<6xi8>, tensor<6xf64>, tensor<5xf64>, tensor<3xui8>, tensor<f64>, tensor<ui8>
}
