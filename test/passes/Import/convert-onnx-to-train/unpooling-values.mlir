// Tests the places of maxima, and what goes back to its places, with ONNX's numbers.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<1x1x2x2xf64>, tensor<1x1x2x2xi64>, tensor<1x1x4x4xi64>, tensor<1x2x2x3xi64>, tensor<1x1x1x1xi64>, tensor<1x1x2x2xi64>, tensor<1x1x4x4xf64>, tensor<1x1x4x4xf64>, tensor<1x1x5x5xf64>, tensor<1x1x4x4xf64>, tensor<1x2x3x4xf64>, tensor<1x1x5x5xf64>, tensor<1x1x4x4xf64>, tensor<1x1x4x4xf64>)
    attributes {input_names = [], output_names = ["places", "places_at", "overlapping", "channels", "padding", "columns", "unpooled", "repeated", "larger", "tiles", "overlap", "spaced", "dilated", "pads"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %mix = onnx.initializer @mix {value = dense<[[[[3.0, 1.0, 2.0, 0.0], [-1.0, 5.0, 5.0, 4.0], [-2.0, 7.0, 0.0, 7.0], [1.0, 2.0, 3.0, -9.0]]]]> : tensor<1x1x4x4xf64>} : tensor<1x1x4x4xf64>
  %two = onnx.initializer @two {value = dense<[[[[1.0, 1.5, -1.5, 1.5], [-0.5, -0.0, -1.5, 0.75], [-0.75, 1.5, -1.0, 0.25]], [[-0.5, 0.5, -1.25, -1.25], [1.0, 1.0, 0.25, 1.75], [-1.25, 1.5, -1.25, 1.75]]]]> : tensor<1x2x3x4xf64>} : tensor<1x2x3x4xf64>
  %zeros = onnx.initializer @zeros {value = dense<[[[[0.0, 0.0], [0.0, 0.0]]]]> : tensor<1x1x2x2xf64>} : tensor<1x1x2x2xf64>
  %up = onnx.initializer @up {value = dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf64>} : tensor<1x1x2x2xf64>
  %at = onnx.initializer @at {value = dense<[[[[5, 7], [13, 15]]]]> : tensor<1x1x2x2xi64>} : tensor<1x1x2x2xi64>
  %twice = onnx.initializer @twice {value = dense<[[[[5, 5], [13, 15]]]]> : tensor<1x1x2x2xi64>} : tensor<1x1x2x2xi64>
  %big = onnx.initializer @big {value = dense<[1, 1, 5, 5]> : tensor<4xi64>} : tensor<4xi64>
  %cols = onnx.initializer @cols {value = dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]]> : tensor<1x4x4xf64>} : tensor<1x4x4xf64>
  %over = onnx.initializer @over {value = dense<[[[0.5, 0.5, 2.0, 1.25, 1.25, -1.75], [-0.5, -1.75, -1.25, -1.25, 1.5, -1.5], [-0.75, -0.0, 1.5, 1.75, 0.75, -1.25], [0.25, 0.75, -1.75, 0.75, -0.5, 0.25], [0.75, 0.75, 0.0, 0.25, -1.25, -0.0], [-1.5, -0.0, 0.25, 1.0, -0.5, -2.0], [0.0, -1.25, 1.0, -0.5, -0.5, 1.75], [-0.5, -0.5, -0.5, -0.0, -1.75, 0.25]]]> : tensor<1x8x6xf64>} : tensor<1x8x6xf64>
  %im4 = onnx.initializer @im4 {value = dense<[4, 4]> : tensor<2xi64>} : tensor<2xi64>
  %b2 = onnx.initializer @b2 {value = dense<[2, 2]> : tensor<2xi64>} : tensor<2xi64>
  %im34 = onnx.initializer @im34 {value = dense<[3, 4]> : tensor<2xi64>} : tensor<2xi64>
  %strided = onnx.initializer @strided {value = dense<[[[1.75, 0.25, 1.0, 1.75], [1.25, 1.0, 1.25, 1.25], [-1.0, -0.0, -0.75, -1.0], [0.25, -0.75, 0.5, 0.25]]]> : tensor<1x4x4xf64>} : tensor<1x4x4xf64>
  %im55 = onnx.initializer @im55 {value = dense<[5, 5]> : tensor<2xi64>} : tensor<2xi64>
  %padded = onnx.initializer @padded {value = dense<[[[-1.5, -0.25, -0.5, 0.75, -1.75, -1.25, 0.0, -0.5, 0.75], [-0.75, -1.25, 1.75, -1.0, -1.5, -1.0, -0.75, -1.0, 0.25], [1.75, -1.5, -0.25, 0.75, 1.5, 2.0, -1.5, 0.25, 1.5], [-1.75, 0.25, -1.25, 1.0, 1.75, 0.25, -2.0, -1.75, -0.25]]]> : tensor<1x4x9xf64>} : tensor<1x4x9xf64>
  %places:2 = onnx.node "MaxPool"(%mix) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>}}
    : (tensor<1x1x4x4xf64>) -> (tensor<1x1x2x2xf64>, tensor<1x1x2x2xi64>)
  // CHECK: {{^}}places: f [1, 1, 2, 2] = 5 5 7 7{{$}}
  // CHECK: {{^}}places_at: i [1, 1, 2, 2] = 5 6 9 11{{$}}
  %overlapping:2 = onnx.node "MaxPool"(%mix) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}}
    : (tensor<1x1x4x4xf64>) -> (tensor<1x1x4x4xf64>, tensor<1x1x4x4xi64>)
  // CHECK: {{^}}overlapping: i [1, 1, 4, 4] = 5 5 5 6 9 9 9 11 9 9 9 11 9 9 9 11{{$}}
  %channels:2 = onnx.node "MaxPool"(%two) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>}}
    : (tensor<1x2x3x4xf64>) -> (tensor<1x2x2x3xf64>, tensor<1x2x2x3xi64>)
  // CHECK: {{^}}channels: i [1, 2, 2, 3] = 1 1 3 9 9 7 16 17 19 21 21 19{{$}}
  %padding:2 = onnx.node "MaxPool"(%zeros) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>, pads = array<i64: 1, 1, 0, 0>, strides = array<i64: 2, 2>}}
    : (tensor<1x1x2x2xf64>) -> (tensor<1x1x1x1xf64>, tensor<1x1x1x1xi64>)
  // CHECK: {{^}}padding: i [1, 1, 1, 1] = 0{{$}}
  %columns:2 = onnx.node "MaxPool"(%mix) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, storage_order = 1 : i64}}
    : (tensor<1x1x4x4xf64>) -> (tensor<1x1x2x2xf64>, tensor<1x1x2x2xi64>)
  // CHECK: {{^}}columns: i [1, 1, 2, 2] = 5 9 6 14{{$}}
  %unpooled = onnx.node "MaxUnpool"(%up, %at) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>}}
    : (tensor<1x1x2x2xf64>, tensor<1x1x2x2xi64>) -> tensor<1x1x4x4xf64>
  // CHECK: {{^}}unpooled: f [1, 1, 4, 4] = 0 0 0 0 0 1 0 2 0 0 0 0 0 3 0 4{{$}}
  %repeated = onnx.node "MaxUnpool"(%up, %twice) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>}}
    : (tensor<1x1x2x2xf64>, tensor<1x1x2x2xi64>) -> tensor<1x1x4x4xf64>
  // CHECK: {{^}}repeated: f [1, 1, 4, 4] = 0 0 0 0 0 2 0 0 0 0 0 0 0 3 0 4{{$}}
  %larger = onnx.node "MaxUnpool"(%up, %at, %big) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>}}
    : (tensor<1x1x2x2xf64>, tensor<1x1x2x2xi64>, tensor<4xi64>) -> tensor<1x1x5x5xf64>
  // CHECK: {{^}}larger: f [1, 1, 5, 5] = 0 0 0 0 0 0 1 0 2 0 0 0 0 0 0 0 3 0 4 0 0 0 0 0 0{{$}}
  %tiles = onnx.node "Col2Im"(%cols, %im4, %b2) {since_version = 18 : i64, node_attributes = {strides = array<i64: 2, 2>}}
    : (tensor<1x4x4xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x1x4x4xf64>
  // CHECK: {{^}}tiles: f [1, 1, 4, 4] = 1 5 2 6 9 13 10 14 3 7 4 8 11 15 12 16{{$}}
  %overlap = onnx.node "Col2Im"(%over, %im34, %b2) {since_version = 18 : i64}
    : (tensor<1x8x6xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x3x4xf64>
  // CHECK: {{^}}overlap: f [1, 2, 3, 4] = 0.5 0 0.25 -1.25 0.5 0.25 2 -3.25 1.75 1.5 -1.75 0.25 0.75 -0.75 0 0.25 0.25 -2 0 -2.5 -0.5 -0.5 0 0.25{{$}}
  %spaced = onnx.node "Col2Im"(%strided, %im55, %b2) {since_version = 18 : i64, node_attributes = {strides = array<i64: 3, 3>}}
    : (tensor<1x4x4xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x1x5x5xf64>
  // CHECK: {{^}}spaced: f [1, 1, 5, 5] = 1.75 1.25 0 0.25 1 -1 0.25 0 0 -0.75 0 0 0 0 0 1 1.25 0 1.75 1.25 -0.75 0.5 0 -1 0.25{{$}}
  %dilated = onnx.node "Col2Im"(%strided, %im4, %b2) {since_version = 18 : i64, node_attributes = {dilations = array<i64: 2, 2>}}
    : (tensor<1x4x4xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x1x4x4xf64>
  // CHECK: {{^}}dilated: f [1, 1, 4, 4] = 1.75 0.25 1.25 1 1 1.75 1.25 1.25 -1 0 0.25 -0.75 -0.75 -1 0.5 0.25{{$}}
  %pads = onnx.node "Col2Im"(%padded, %im4, %b2) {since_version = 18 : i64, node_attributes = {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>}}
    : (tensor<1x4x9xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x1x4x4xf64>
  // CHECK: {{^}}pads: f [1, 1, 4, 4] = -1.75 -1.5 0.25 -0.25 -1 -1.75 -1.5 -1.25 1 1.5 1.75 2 -0.75 -0.5 -1 0.75{{$}}
  onnx.return %places#0, %places#1, %overlapping#1, %channels#1, %padding#1, %columns#1, %unpooled, %repeated, %larger, %tiles, %overlap, %spaced, %dilated, %pads : tensor<1x1x2x2xf64>, tensor<1x1x2x2xi64>, tensor<1x1x4x4xi64>, tensor<1x2x2x3xi64>, tensor<1x1x1x1xi64>, tensor<1x1x2x2xi64>, tensor<1x1x4x4xf64>, tensor<1x1x4x4xf64>, tensor<1x1x5x5xf64>, tensor<1x1x4x4xf64>, tensor<1x2x3x4xf64>, tensor<1x1x5x5xf64>, tensor<1x1x4x4xf64>, tensor<1x1x4x4xf64>
}
