// Tests that elements arrive where ONNX says.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<2x2xf64>, tensor<2xi64>, tensor<3xi1>, tensor<2xf64>, tensor<1x2x2x4xf64>, tensor<1x2x2x4xf64>, tensor<1x8x1x2xf64>, tensor<3xf64>, tensor<1x2xf64>, tensor<2x4xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<4xf64>, tensor<2x3xf64>, tensor<3xf64>)
    attributes {input_names = [], output_names = ["flatten", "cast_like", "cast_to_bool", "cast_bool", "depth_column_row", "depth_row_column", "space_to_depth", "slice_backwards", "slice_attributes", "tile", "pad_reflect", "pad_edge", "pad_wrap", "pad_negative", "pad_axes", "pad_attributes"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %none = onnx.none : none
  %c0 = onnx.initializer @c0 {value = dense<[[[0.0, 1.0], [2.0, 3.0]]]> : tensor<1x2x2xf64>} : tensor<1x2x2xf64>
  %c1 = onnx.initializer @c1 {value = dense<[1.75, -1.75]> : tensor<2xf64>} : tensor<2xf64>
  %c2 = onnx.initializer @c2 {value = dense<[0]> : tensor<1xi64>} : tensor<1xi64>
  %c3 = onnx.initializer @c3 {value = dense<[0.0, -2.0, 0.5]> : tensor<3xf64>} : tensor<3xf64>
  %c4 = onnx.initializer @c4 {value = dense<[true, false]> : tensor<2xi1>} : tensor<2xi1>
  %c5 = onnx.initializer @c5 {value = dense<[[[[0.0, 1.0]], [[2.0, 3.0]], [[4.0, 5.0]], [[6.0, 7.0]], [[8.0, 9.0]], [[10.0, 11.0]], [[12.0, 13.0]], [[14.0, 15.0]]]]> : tensor<1x8x1x2xf64>} : tensor<1x8x1x2xf64>
  %c6 = onnx.initializer @c6 {value = dense<[[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]], [[8.0, 9.0, 10.0, 11.0], [12.0, 13.0, 14.0, 15.0]]]]> : tensor<1x2x2x4xf64>} : tensor<1x2x2x4xf64>
  %c7 = onnx.initializer @c7 {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf64>} : tensor<5xf64>
  %c8 = onnx.initializer @c8 {value = dense<[-1]> : tensor<1xi64>} : tensor<1xi64>
  %c9 = onnx.initializer @c9 {value = dense<[-100]> : tensor<1xi64>} : tensor<1xi64>
  %c10 = onnx.initializer @c10 {value = dense<[-2]> : tensor<1xi64>} : tensor<1xi64>
  %c11 = onnx.initializer @c11 {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>} : tensor<2x3xf64>
  %c12 = onnx.initializer @c12 {value = dense<[[1.0, 2.0]]> : tensor<1x2xf64>} : tensor<1x2xf64>
  %c13 = onnx.initializer @c13 {value = dense<[2, 2]> : tensor<2xi64>} : tensor<2xi64>
  %c14 = onnx.initializer @c14 {value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>} : tensor<3xf64>
  %c15 = onnx.initializer @c15 {value = dense<[2, 1]> : tensor<2xi64>} : tensor<2xi64>
  %c16 = onnx.initializer @c16 {value = dense<[-1, 2]> : tensor<2xi64>} : tensor<2xi64>
  %c17 = onnx.initializer @c17 {value = dense<9.0> : tensor<f64>} : tensor<f64>
  %c18 = onnx.initializer @c18 {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c19 = onnx.initializer @c19 {value = dense<[1, 0]> : tensor<2xi64>} : tensor<2xi64>
  %c20 = onnx.initializer @c20 {value = dense<[1.0, 2.0]> : tensor<2xf64>} : tensor<2xf64>
  %flatten = onnx.node "Flatten"(%c0) {since_version = 23 : i64, node_attributes = {axis = 2 : i64}}
    : (tensor<1x2x2xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}flatten: f [2, 2] = 0 1 2 3{{$}}
  %cast_like = onnx.node "CastLike"(%c1, %c2) {since_version = 23 : i64}
    : (tensor<2xf64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: {{^}}cast_like: i [2] = 1 -1{{$}}
  %cast_to_bool = onnx.node "Cast"(%c3) {since_version = 23 : i64, node_attributes = {to = 9 : i64}}
    : (tensor<3xf64>) -> tensor<3xi1>
  // CHECK: {{^}}cast_to_bool: i [3] = 0 1 1{{$}}
  %cast_bool = onnx.node "Cast"(%c4) {since_version = 23 : i64, node_attributes = {to = 11 : i64}}
    : (tensor<2xi1>) -> tensor<2xf64>
  // CHECK: {{^}}cast_bool: f [2] = 1 0{{$}}
  // The block is outermost in the channels, or innermost (CRD).
  %depth_column_row = onnx.node "DepthToSpace"(%c5) {since_version = 13 : i64, node_attributes = {blocksize = 2 : i64}}
    : (tensor<1x8x1x2xf64>) -> tensor<1x2x2x4xf64>
  // CHECK: {{^}}depth_column_row: f [1, 2, 2, 4] = 0 4 1 5 8 12 9 13 2 6 3 7 10 14 11 15{{$}}
  %depth_row_column = onnx.node "DepthToSpace"(%c5) {since_version = 13 : i64, node_attributes = {blocksize = 2 : i64, mode = "CRD"}}
    : (tensor<1x8x1x2xf64>) -> tensor<1x2x2x4xf64>
  // CHECK: {{^}}depth_row_column: f [1, 2, 2, 4] = 0 2 1 3 4 6 5 7 8 10 9 11 12 14 13 15{{$}}
  %space_to_depth = onnx.node "SpaceToDepth"(%c6) {since_version = 13 : i64, node_attributes = {blocksize = 2 : i64}}
    : (tensor<1x2x2x4xf64>) -> tensor<1x8x1x2xf64>
  // CHECK: {{^}}space_to_depth: f [1, 8, 1, 2] = 0 2 8 10 1 3 9 11 4 6 12 14 5 7 13 15{{$}}
  %slice_backwards = onnx.node "Slice"(%c7, %c8, %c9, %c2, %c10) {since_version = 13 : i64}
    : (tensor<5xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xf64>
  // CHECK: {{^}}slice_backwards: f [3] = 5 3 1{{$}}
  %slice_attributes = onnx.node "Slice"(%c11) {since_version = 1 : i64, node_attributes = {starts = array<i64: 0, 1>, ends = array<i64: 1, 1000>}}
    : (tensor<2x3xf64>) -> tensor<1x2xf64>
  // CHECK: {{^}}slice_attributes: f [1, 2] = 2 3{{$}}
  %tile = onnx.node "Tile"(%c12, %c13) {since_version = 13 : i64}
    : (tensor<1x2xf64>, tensor<2xi64>) -> tensor<2x4xf64>
  // CHECK: {{^}}tile: f [2, 4] = 1 2 1 2 1 2 1 2{{$}}
  %pad_reflect = onnx.node "Pad"(%c14, %c15) {since_version = 23 : i64, node_attributes = {mode = "reflect"}}
    : (tensor<3xf64>, tensor<2xi64>) -> tensor<6xf64>
  // CHECK: {{^}}pad_reflect: f [6] = 3 2 1 2 3 2{{$}}
  %pad_edge = onnx.node "Pad"(%c14, %c15) {since_version = 23 : i64, node_attributes = {mode = "edge"}}
    : (tensor<3xf64>, tensor<2xi64>) -> tensor<6xf64>
  // CHECK: {{^}}pad_edge: f [6] = 1 1 1 2 3 3{{$}}
  %pad_wrap = onnx.node "Pad"(%c14, %c15) {since_version = 23 : i64, node_attributes = {mode = "wrap"}}
    : (tensor<3xf64>, tensor<2xi64>) -> tensor<6xf64>
  // CHECK: {{^}}pad_wrap: f [6] = 2 3 1 2 3 1{{$}}
  %pad_negative = onnx.node "Pad"(%c14, %c16, %c17) {since_version = 23 : i64}
    : (tensor<3xf64>, tensor<2xi64>, tensor<f64>) -> tensor<4xf64>
  // CHECK: {{^}}pad_negative: f [4] = 2 3 9 9{{$}}
  %pad_axes = onnx.node "Pad"(%c18, %c19, %none, %c8) {since_version = 23 : i64}
    : (tensor<2x2xf64>, tensor<2xi64>, none, tensor<1xi64>) -> tensor<2x3xf64>
  // CHECK: {{^}}pad_axes: f [2, 3] = 0 1 2 0 3 4{{$}}
  %pad_attributes = onnx.node "Pad"(%c20) {since_version = 2 : i64, node_attributes = {pads = array<i64: 0, 1>, value = 5.0 : f32}}
    : (tensor<2xf64>) -> tensor<3xf64>
  // CHECK: {{^}}pad_attributes: f [3] = 1 2 5{{$}}
  onnx.return %flatten, %cast_like, %cast_to_bool, %cast_bool, %depth_column_row, %depth_row_column, %space_to_depth, %slice_backwards, %slice_attributes, %tile, %pad_reflect, %pad_edge, %pad_wrap, %pad_negative, %pad_axes, %pad_attributes : tensor<2x2xf64>, tensor<2xi64>, tensor<3xi1>, tensor<2xf64>, tensor<1x2x2x4xf64>, tensor<1x2x2x4xf64>, tensor<1x8x1x2xf64>, tensor<3xf64>, tensor<1x2xf64>, tensor<2x4xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<4xf64>, tensor<2x3xf64>, tensor<3xf64>
}
