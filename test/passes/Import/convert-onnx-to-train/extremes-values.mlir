// Tests that the place of an extreme lies inside of a row that holds NaN, as PyTorch's, and that integers have extremes and products.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<3xi64>, tensor<3xi64>, tensor<3x2xi64>, tensor<2x3xi32>, tensor<2x3xi64>, tensor<2x2xi32>)
    attributes {input_names = [], output_names = ["argmax", "argmin", "places", "largest", "order", "product"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %x = onnx.initializer @x {value = dense<[[1.0, 0x7FF8000000000000, 9.0], [4.0, 5.0, 2.0], [0x7FF8000000000000, 0x7FF8000000000000, 0x7FF8000000000000]]> : tensor<3x3xf64>} : tensor<3x3xf64>
  %i = onnx.initializer @i {value = dense<[[-2147483648, 3, -2147483648, 3], [-1, 2147483647, 0, -5]]> : tensor<2x4xi32>} : tensor<2x4xi32>
  %j = onnx.initializer @j {value = dense<[[1, 2], [-3, 4], [1, 0], [1, 1]]> : tensor<4x2xi32>} : tensor<4x2xi32>
  %k = onnx.initializer @k {value = dense<[[1, 2, 3, 4], [5, -6, 7, 8]]> : tensor<2x4xi32>} : tensor<2x4xi32>
  %two = onnx.initializer @two {value = dense<2> : tensor<1xi64>} : tensor<1xi64>
  %three = onnx.initializer @three {value = dense<3> : tensor<1xi64>} : tensor<1xi64>
  %argmax = onnx.node "ArgMax"(%x) {since_version = 13 : i64, node_attributes = {axis = 1 : i64, keepdims = 0 : i64}} : (tensor<3x3xf64>) -> tensor<3xi64>
  // CHECK: {{^}}argmax: i [3] = 1 1 0{{$}}
  %argmin = onnx.node "ArgMin"(%x) {since_version = 13 : i64, node_attributes = {axis = 1 : i64, keepdims = 0 : i64, select_last_index = 1 : i64}} : (tensor<3x3xf64>) -> tensor<3xi64>
  // CHECK: {{^}}argmin: i [3] = 1 2 2{{$}}
  %0:2 = onnx.node "TopK"(%x, %two) {since_version = 11 : i64} : (tensor<3x3xf64>, tensor<1xi64>) -> (tensor<3x2xf64>, tensor<3x2xi64>)
  // CHECK: {{^}}places: i [3, 2] = 1 2 1 0 0 1{{$}}
  %1:2 = onnx.node "TopK"(%i, %three) {since_version = 11 : i64} : (tensor<2x4xi32>, tensor<1xi64>) -> (tensor<2x3xi32>, tensor<2x3xi64>)
  // CHECK: {{^}}largest: i [2, 3] = 3 3 -2147483648 2147483647 0 -1{{$}}
  // CHECK: {{^}}order: i [2, 3] = 1 3 0 1 2 0{{$}}
  %product = onnx.node "MatMul"(%k, %j) {since_version = 13 : i64} : (tensor<2x4xi32>, tensor<4x2xi32>) -> tensor<2x2xi32>
  // CHECK: {{^}}product: i [2, 2] = 2 14 38 -6{{$}}
  onnx.return %argmax, %argmin, %0#1, %1#0, %1#1, %product : tensor<3xi64>, tensor<3xi64>, tensor<3x2xi64>, tensor<2x3xi32>, tensor<2x3xi64>, tensor<2x2xi32>
}
