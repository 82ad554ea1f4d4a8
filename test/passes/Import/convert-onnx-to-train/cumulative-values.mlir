// Tests products of all elements up to each: without its own, from behind, and over a length that is no power of two.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<1xf64>, tensor<4xi8>)
    attributes {input_names = [], output_names = ["all", "before", "behind", "one", "nibbles"], opset_imports = {"ai.onnx" = 26 : i64}} {
  %x = onnx.initializer @x {value = dense<[1.0, 2.0, -3.0, 4.0, 5.0]> : tensor<5xf64>} : tensor<5xf64>
  %single = onnx.initializer @single {value = dense<[7.0]> : tensor<1xf64>} : tensor<1xf64>
  %wide = onnx.initializer @wide {value = dense<[9.0, -9.0, 7.0, -1.0]> : tensor<4xf64>} : tensor<4xf64>
  %axis = onnx.initializer @axis {value = dense<0> : tensor<i64>} : tensor<i64>
  %all = onnx.node "CumProd"(%x, %axis) {since_version = 26 : i64} : (tensor<5xf64>, tensor<i64>) -> tensor<5xf64>
  // CHECK: {{^}}all: f [5] = 1 2 -6 -24 -120{{$}}
  %before = onnx.node "CumProd"(%x, %axis) {since_version = 26 : i64, node_attributes = {exclusive = 1 : i64}} : (tensor<5xf64>, tensor<i64>) -> tensor<5xf64>
  // CHECK: {{^}}before: f [5] = 1 1 2 -6 -24{{$}}
  %behind = onnx.node "CumProd"(%x, %axis) {since_version = 26 : i64, node_attributes = {reverse = 1 : i64}} : (tensor<5xf64>, tensor<i64>) -> tensor<5xf64>
  // CHECK: {{^}}behind: f [5] = -120 -120 -60 20 5{{$}}
  %one = onnx.node "CumProd"(%single, %axis) {since_version = 26 : i64, node_attributes = {exclusive = 1 : i64}} : (tensor<1xf64>, tensor<i64>) -> tensor<1xf64>
  // CHECK: {{^}}one: f [1] = 1{{$}}
  %nibbles = onnx.node "Cast"(%wide) {since_version = 25 : i64, node_attributes = {to = 22 : i64, zc.packed_bits = 4 : i64}} : (tensor<4xf64>) -> tensor<4xi8>
  // CHECK: {{^}}nibbles: i [4] = -7 7 7 -1{{$}}
  onnx.return %all, %before, %behind, %one, %nibbles : tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<1xf64>, tensor<4xi8>
}
