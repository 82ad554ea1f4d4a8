// Tests every coordinate transformation, rounding and kernel of Resize.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<1x1x8xf64>, tensor<1x1x6xf64>, tensor<1x1x6xf64>, tensor<1x1x2xf64>, tensor<1x1x2xf64>, tensor<1x1x3xf64>, tensor<1x1x2x4xf64>, tensor<1x1x8xf64>, tensor<1x1x3xf64>, tensor<1x1x7xf64>, tensor<1x1x1xf64>, tensor<1x1x8xf64>, tensor<1x1x1xf64>, tensor<1x1x3xf64>, tensor<1x1x2xf64>, tensor<1x1x4x3xf64>, tensor<1x4x2xf64>, tensor<1x1x3x6xf64>, tensor<1x1x4x4xf64>, tensor<1x1x8xf64>, tensor<1x1x3xf64>, tensor<1x1x6xf64>, tensor<1x1x8xf64>, tensor<1x1x3xf64>, tensor<1x1x3xf64>)
    attributes {input_names = [], output_names = ["nearest", "nearest_floor", "nearest_ceil", "nearest_prefer_ceil", "nearest_prefer_floor", "nearest_sizes", "nearest_planes", "linear", "linear_down", "linear_align_corners", "linear_align_one", "linear_asymmetric", "linear_pytorch_one", "linear_pytorch", "linear_symmetric", "linear_planes", "linear_axes", "linear_not_larger", "linear_not_smaller", "cubic", "cubic_given", "cubic_exclude", "linear_antialias_up", "linear_antialias", "cubic_antialias"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %none = onnx.none : none
  %c0 = onnx.initializer @c0 {value = dense<[[[1.0, 2.0, 4.0, 8.0]]]> : tensor<1x1x4xf64>} : tensor<1x1x4xf64>
  %c1 = onnx.initializer @c1 {value = dense<[1.0, 1.0, 2.0]> : tensor<3xf32>} : tensor<3xf32>
  %c2 = onnx.initializer @c2 {value = dense<[1.0, 1.0, 1.5]> : tensor<3xf32>} : tensor<3xf32>
  %c3 = onnx.initializer @c3 {value = dense<[1.0, 1.0, 0.5]> : tensor<3xf32>} : tensor<3xf32>
  %c4 = onnx.initializer @c4 {value = dense<[1, 1, 3]> : tensor<3xi64>} : tensor<3xi64>
  %c5 = onnx.initializer @c5 {value = dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf64>} : tensor<1x1x2x2xf64>
  %c6 = onnx.initializer @c6 {value = dense<[1.0, 1.0, 1.0, 2.0]> : tensor<4xf32>} : tensor<4xf32>
  %c7 = onnx.initializer @c7 {value = dense<[1.0, 1.0, 0.75]> : tensor<3xf32>} : tensor<3xf32>
  %c8 = onnx.initializer @c8 {value = dense<[1, 1, 7]> : tensor<3xi64>} : tensor<3xi64>
  %c9 = onnx.initializer @c9 {value = dense<[1, 1, 1]> : tensor<3xi64>} : tensor<3xi64>
  %c10 = onnx.initializer @c10 {value = dense<[1.0, 1.0, 0.6000000238418579]> : tensor<3xf32>} : tensor<3xf32>
  %c11 = onnx.initializer @c11 {value = dense<[[[[1.0, 2.0], [3.0, 5.0]]]]> : tensor<1x1x2x2xf64>} : tensor<1x1x2x2xf64>
  %c12 = onnx.initializer @c12 {value = dense<[1.0, 1.0, 2.0, 1.5]> : tensor<4xf32>} : tensor<4xf32>
  %c13 = onnx.initializer @c13 {value = dense<[[[1.0, 2.0], [3.0, 5.0]]]> : tensor<1x2x2xf64>} : tensor<1x2x2xf64>
  %c14 = onnx.initializer @c14 {value = dense<[2.0]> : tensor<1xf32>} : tensor<1xf32>
  %c15 = onnx.initializer @c15 {value = dense<[[[[1.0, 2.0, 4.0, 8.0], [3.0, 5.0, 7.0, 9.0]]]]> : tensor<1x1x2x4xf64>} : tensor<1x1x2x4xf64>
  %c16 = onnx.initializer @c16 {value = dense<[4, 6]> : tensor<2xi64>} : tensor<2xi64>
  %c17 = onnx.initializer @c17 {value = dense<[3, 4]> : tensor<2xi64>} : tensor<2xi64>
  %nearest = onnx.node "Resize"(%c0, %none, %c1) {since_version = 19 : i64}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x8xf64>
  // CHECK: {{^}}nearest: f [1, 1, 8] = 1 1 2 2 4 4 8 8{{$}}
  %nearest_floor = onnx.node "Resize"(%c0, %none, %c2) {since_version = 19 : i64, node_attributes = {nearest_mode = "floor", coordinate_transformation_mode = "asymmetric"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x6xf64>
  // CHECK: {{^}}nearest_floor: f [1, 1, 6] = 1 1 2 4 4 8{{$}}
  %nearest_ceil = onnx.node "Resize"(%c0, %none, %c2) {since_version = 19 : i64, node_attributes = {nearest_mode = "ceil", coordinate_transformation_mode = "asymmetric"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x6xf64>
  // CHECK: {{^}}nearest_ceil: f [1, 1, 6] = 1 2 4 4 8 8{{$}}
  %nearest_prefer_ceil = onnx.node "Resize"(%c0, %none, %c3) {since_version = 19 : i64, node_attributes = {nearest_mode = "round_prefer_ceil"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x2xf64>
  // CHECK: {{^}}nearest_prefer_ceil: f [1, 1, 2] = 2 8{{$}}
  %nearest_prefer_floor = onnx.node "Resize"(%c0, %none, %c3) {since_version = 19 : i64, node_attributes = {nearest_mode = "round_prefer_floor"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x2xf64>
  // CHECK: {{^}}nearest_prefer_floor: f [1, 1, 2] = 1 4{{$}}
  %nearest_sizes = onnx.node "Resize"(%c0, %none, %none, %c4) {since_version = 19 : i64}
    : (tensor<1x1x4xf64>, none, none, tensor<3xi64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}nearest_sizes: f [1, 1, 3] = 1 2 8{{$}}
  %nearest_planes = onnx.node "Resize"(%c5, %none, %c6) {since_version = 11 : i64}
    : (tensor<1x1x2x2xf64>, none, tensor<4xf32>) -> tensor<1x1x2x4xf64>
  // CHECK: {{^}}nearest_planes: f [1, 1, 2, 4] = 1 1 2 2 3 3 4 4{{$}}
  %linear = onnx.node "Resize"(%c0, %none, %c1) {since_version = 19 : i64, node_attributes = {mode = "linear"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x8xf64>
  // CHECK: {{^}}linear: f [1, 1, 8] = 1 1.25 1.75 2.5 3.5 5 7 8{{$}}
  %linear_down = onnx.node "Resize"(%c0, %none, %c7) {since_version = 19 : i64, node_attributes = {mode = "linear"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}linear_down: f [1, 1, 3] = 1.166666{{[0-9]*}} 3 7.333333{{[0-9]*}}{{$}}
  %linear_align_corners = onnx.node "Resize"(%c0, %none, %none, %c8) {since_version = 19 : i64, node_attributes = {mode = "linear", coordinate_transformation_mode = "align_corners"}}
    : (tensor<1x1x4xf64>, none, none, tensor<3xi64>) -> tensor<1x1x7xf64>
  // CHECK: {{^}}linear_align_corners: f [1, 1, 7] = 1 1.5 2 3 4 6 8{{$}}
  %linear_align_one = onnx.node "Resize"(%c0, %none, %none, %c9) {since_version = 19 : i64, node_attributes = {mode = "linear", coordinate_transformation_mode = "align_corners"}}
    : (tensor<1x1x4xf64>, none, none, tensor<3xi64>) -> tensor<1x1x1xf64>
  // CHECK: {{^}}linear_align_one: f [1, 1, 1] = 1{{$}}
  %linear_asymmetric = onnx.node "Resize"(%c0, %none, %c1) {since_version = 19 : i64, node_attributes = {mode = "linear", coordinate_transformation_mode = "asymmetric"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x8xf64>
  // CHECK: {{^}}linear_asymmetric: f [1, 1, 8] = 1 1.5 2 3 4 6 8 8{{$}}
  %linear_pytorch_one = onnx.node "Resize"(%c0, %none, %none, %c9) {since_version = 19 : i64, node_attributes = {mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"}}
    : (tensor<1x1x4xf64>, none, none, tensor<3xi64>) -> tensor<1x1x1xf64>
  // CHECK: {{^}}linear_pytorch_one: f [1, 1, 1] = 1{{$}}
  %linear_pytorch = onnx.node "Resize"(%c0, %none, %none, %c4) {since_version = 19 : i64, node_attributes = {mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"}}
    : (tensor<1x1x4xf64>, none, none, tensor<3xi64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}linear_pytorch: f [1, 1, 3] = 1.166666{{[0-9]*}} 3 7.333333{{[0-9]*}}{{$}}
  %linear_symmetric = onnx.node "Resize"(%c0, %none, %c10) {since_version = 19 : i64, node_attributes = {mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x2xf64>
  // CHECK: {{^}}linear_symmetric: f [1, 1, 2] = 1.666666{{[0-9]*}} 5.333333{{[0-9]*}}{{$}}
  %linear_planes = onnx.node "Resize"(%c11, %none, %c12) {since_version = 19 : i64, node_attributes = {mode = "linear"}}
    : (tensor<1x1x2x2xf64>, none, tensor<4xf32>) -> tensor<1x1x4x3xf64>
  // CHECK: {{^}}linear_planes: f [1, 1, 4, 3] = 1 1.5 2 1.5 2.125 2.75 2.5 3.375 4.25 3 4 5{{$}}
  %linear_axes = onnx.node "Resize"(%c13, %none, %c14) {since_version = 19 : i64, node_attributes = {mode = "linear", axes = array<i64: 1>}}
    : (tensor<1x2x2xf64>, none, tensor<1xf32>) -> tensor<1x4x2xf64>
  // CHECK: {{^}}linear_axes: f [1, 4, 2] = 1 2 1.5 2.75 2.5 4.25 3 5{{$}}
  %linear_not_larger = onnx.node "Resize"(%c15, %none, %none, %c16) {since_version = 19 : i64, node_attributes = {mode = "linear", axes = array<i64: 2, 3>, keep_aspect_ratio_policy = "not_larger"}}
    : (tensor<1x1x2x4xf64>, none, none, tensor<2xi64>) -> tensor<1x1x3x6xf64>
  // CHECK: {{^}}linear_not_larger: f [1, 1, 3, 6] = 1 1.5 2.333333{{[0-9]*}} 3.666666{{[0-9]*}} 6 8 2 2.75 3.833333{{[0-9]*}} 5.166666{{[0-9]*}} 7 8.5 3 4 5.333333{{[0-9]*}} 6.666666{{[0-9]*}} 8 9{{$}}
  %linear_not_smaller = onnx.node "Resize"(%c11, %none, %none, %c17) {since_version = 19 : i64, node_attributes = {mode = "linear", axes = array<i64: 2, 3>, keep_aspect_ratio_policy = "not_smaller"}}
    : (tensor<1x1x2x2xf64>, none, none, tensor<2xi64>) -> tensor<1x1x4x4xf64>
  // CHECK: {{^}}linear_not_smaller: f [1, 1, 4, 4] = 1 1.25 1.75 2 1.5 1.8125 2.4375 2.75 2.5 2.9375 3.8125 4.25 3 3.5 4.5 5{{$}}
  %cubic = onnx.node "Resize"(%c0, %none, %c1) {since_version = 19 : i64, node_attributes = {mode = "cubic"}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x8xf64>
  // CHECK: {{^}}cubic: f [1, 1, 8] = 0.8945312{{[0-9]*}} 1.1562{{[0-9]*}} 1.5625 2.417968{{[0-9]*}} 3.160156{{[0-9]*}} 5.117187{{[0-9]*}} 7.164062{{[0-9]*}} 8.42187{{[0-9]*}}{{$}}
  %cubic_given = onnx.node "Resize"(%c0, %none, %c7) {since_version = 19 : i64, node_attributes = {mode = "cubic", cubic_coeff_a = -0.5 : f32}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}cubic_given: f [1, 1, 3] = 1.097222{{[0-9]*}} 2.8125 7.541666{{[0-9]*}}{{$}}
  %cubic_exclude = onnx.node "Resize"(%c0, %none, %c2) {since_version = 19 : i64, node_attributes = {mode = "cubic", exclude_outside = 1 : i64}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x6xf64>
  // CHECK: {{^}}cubic_exclude: f [1, 1, 6] = 0.8986486{{[0-9]*}} 1.285714{{[0-9]*}} 2.304398{{[0-9]*}} 3.383101{{[0-9]*}} 6.342857{{[0-9]*}} 8.405405{{[0-9]*}}{{$}}
  // Growing, antialias changes nothing.
  %linear_antialias_up = onnx.node "Resize"(%c0, %none, %c1) {since_version = 19 : i64, node_attributes = {mode = "linear", antialias = 1 : i64}}
    : (tensor<1x1x4xf64>, none, tensor<3xf32>) -> tensor<1x1x8xf64>
  // CHECK: {{^}}linear_antialias_up: f [1, 1, 8] = 1 1.25 1.75 2.5 3.5 5 7 8{{$}}
  %d0 = onnx.initializer @d0 {value = dense<[[[1.0, 2.0, 4.0, 8.0, -1.0, 3.0, 0.0, 5.0]]]> : tensor<1x1x8xf64>} : tensor<1x1x8xf64>
  %d1 = onnx.initializer @d1 {value = dense<[1, 1, 3]> : tensor<3xi64>} : tensor<3xi64>
  // 8 / 3 is of single precision, as PyTorch's: exact would be 2.4186047.
  %linear_antialias = onnx.node "Resize"(%d0, %none, %none, %d1) {since_version = 19 : i64, node_attributes = {mode = "linear", antialias = 1 : i64}}
    : (tensor<1x1x8xf64>, none, none, tensor<3xi64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}linear_antialias: f [1, 1, 3] = 2.465116{{[0-9]*}} 3.380952{{[0-9]*}} 2.418605{{[0-9]*}}{{$}}
  %cubic_antialias = onnx.node "Resize"(%d0, %none, %none, %d1) {since_version = 19 : i64, node_attributes = {mode = "cubic", antialias = 1 : i64, exclude_outside = 1 : i64, cubic_coeff_a = -0.5 : f32}}
    : (tensor<1x1x8xf64>, none, none, tensor<3xi64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}cubic_antialias: f [1, 1, 3] = 2.627274{{[0-9]*}} 3.456108{{[0-9]*}} 2.052211{{[0-9]*}}{{$}}
  onnx.return %nearest, %nearest_floor, %nearest_ceil, %nearest_prefer_ceil, %nearest_prefer_floor, %nearest_sizes, %nearest_planes, %linear, %linear_down, %linear_align_corners, %linear_align_one, %linear_asymmetric, %linear_pytorch_one, %linear_pytorch, %linear_symmetric, %linear_planes, %linear_axes, %linear_not_larger, %linear_not_smaller, %cubic, %cubic_given, %cubic_exclude, %linear_antialias_up, %linear_antialias, %cubic_antialias : tensor<1x1x8xf64>, tensor<1x1x6xf64>, tensor<1x1x6xf64>, tensor<1x1x2xf64>, tensor<1x1x2xf64>, tensor<1x1x3xf64>, tensor<1x1x2x4xf64>, tensor<1x1x8xf64>, tensor<1x1x3xf64>, tensor<1x1x7xf64>, tensor<1x1x1xf64>, tensor<1x1x8xf64>, tensor<1x1x1xf64>, tensor<1x1x3xf64>, tensor<1x1x2xf64>, tensor<1x1x4x3xf64>, tensor<1x4x2xf64>, tensor<1x1x3x6xf64>, tensor<1x1x4x4xf64>, tensor<1x1x8xf64>, tensor<1x1x3xf64>, tensor<1x1x6xf64>, tensor<1x1x8xf64>, tensor<1x1x3xf64>, tensor<1x1x3xf64>
}
