// Tests the extremes of rows: of equal elements the first.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<2x3xf64>, tensor<2x3xi64>, tensor<1x4xf64>, tensor<1x4xi64>)
    attributes {input_names = [], output_names = ["largest", "places", "smallest", "rows"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %x = onnx.initializer @x {value = dense<[[1.0, 7.0, 3.0, 7.0], [-4.0, -5.0, -6.0, -5.0]]> : tensor<2x4xf64>} : tensor<2x4xf64>
  %three = onnx.initializer @three {value = dense<3> : tensor<1xi64>} : tensor<1xi64>
  %one = onnx.initializer @one {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %0:2 = onnx.node "TopK"(%x, %three) {since_version = 11 : i64} : (tensor<2x4xf64>, tensor<1xi64>) -> (tensor<2x3xf64>, tensor<2x3xi64>)
  // CHECK: {{^}}largest: f [2, 3] = 7 7 3 -4 -5 -5{{$}}
  // CHECK: {{^}}places: i [2, 3] = 1 3 2 0 1 3{{$}}
  %1:2 = onnx.node "TopK"(%x, %one) {since_version = 11 : i64, node_attributes = {axis = 0 : i64, largest = 0 : i64}}
    : (tensor<2x4xf64>, tensor<1xi64>) -> (tensor<1x4xf64>, tensor<1x4xi64>)
  // CHECK: {{^}}smallest: f [1, 4] = -4 -5 -6 -5{{$}}
  // CHECK: {{^}}rows: i [1, 4] = 1 1 1 1{{$}}
  onnx.return %0#0, %0#1, %1#0, %1#1 : tensor<2x3xf64>, tensor<2x3xi64>, tensor<1x4xf64>, tensor<1x4xi64>
}
