// Tests pools, with numbers from PyTorch where it has them: strides, dilations, padding and ceil_mode.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<1x1x2xf64>, tensor<1x1x4xf64>, tensor<1x1x3xf64>, tensor<1x1x3xf64>, tensor<1x1x2xf64>, tensor<1x1x2x2xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>, tensor<1x1x3xf64>, tensor<1x1x2xf64>, tensor<1x1x3xf64>, tensor<1x1x4xf64>, tensor<1x1x4xf64>, tensor<1x1x2x2xf64>, tensor<1x1x3xf64>, tensor<1x1x2xf64>)
    attributes {input_names = [], output_names = ["lp_pool", "lp_pool1", "lp_pool3", "lp_pool_ceil", "lp_pool_dilated", "lp_pool_planes", "global_lp_pool", "global_lp_pool1", "global_lp_pool3", "global_average_pool", "global_max_pool", "average_pool", "average_pool_counts_pads", "average_pool_ceil", "average_pool_ceil_counts_pads", "average_pool_dilated", "average_pool_same_upper", "average_pool_same_lower", "max_pool", "max_pool_ceil", "max_pool_tail"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<[[[1.0, -2.0, 3.0, 4.0, -5.0]]]> : tensor<1x1x5xf64>} : tensor<1x1x5xf64>
  %c1 = onnx.initializer @c1 {value = dense<[[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0], [12.0, 13.0, 14.0, 15.0]]]]> : tensor<1x1x4x4xf64>} : tensor<1x1x4x4xf64>
  %c2 = onnx.initializer @c2 {value = dense<[[[3.0, -4.0], [1.0, 1.0]]]> : tensor<1x2x2xf64>} : tensor<1x2x2xf64>
  %c3 = onnx.initializer @c3 {value = dense<[[[3.0, -4.0], [1.0, 2.0]]]> : tensor<1x2x2xf64>} : tensor<1x2x2xf64>
  %c4 = onnx.initializer @c4 {value = dense<[[[3.0, -4.0], [-1.0, -2.0]]]> : tensor<1x2x2xf64>} : tensor<1x2x2xf64>
  %c5 = onnx.initializer @c5 {value = dense<[[[1.0, 2.0, 4.0, 8.0]]]> : tensor<1x1x4xf64>} : tensor<1x1x4xf64>
  %lp_pool = onnx.node "LpPool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, strides = array<i64: 2>}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x2xf64>
  // CHECK: {{^}}lp_pool: f [1, 1, 2] = 2.236067{{[0-9]*}} 5{{$}}
  %lp_pool1 = onnx.node "LpPool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, p = 1 : i64}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x4xf64>
  // CHECK: {{^}}lp_pool1: f [1, 1, 4] = 3 5 7 9{{$}}
  %lp_pool3 = onnx.node "LpPool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 3>, p = 3 : i64, pads = array<i64: 1, 1>, strides = array<i64: 2>}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}lp_pool3: f [1, 1, 3] = 2.080083{{[0-9]*}} 4.626065{{[0-9]*}} 5.738793{{[0-9]*}}{{$}}
  %lp_pool_ceil = onnx.node "LpPool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, strides = array<i64: 2>, ceil_mode = 1 : i64, p = 1 : i64}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}lp_pool_ceil: f [1, 1, 3] = 3 7 5{{$}}
  %lp_pool_dilated = onnx.node "LpPool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, dilations = array<i64: 3>, p = 1 : i64}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x2xf64>
  // CHECK: {{^}}lp_pool_dilated: f [1, 1, 2] = 5 7{{$}}
  %lp_pool_planes = onnx.node "LpPool"(%c1) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>}}
    : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  // CHECK: {{^}}lp_pool_planes: f [1, 1, 2, 2] = 6.480740{{[0-9]*}} 9.899494{{[0-9]*}} 21.40093{{[0-9]*}} 25.33771{{[0-9]*}}{{$}}
  %global_lp_pool = onnx.node "GlobalLpPool"(%c2) {since_version = 22 : i64}
    : (tensor<1x2x2xf64>) -> tensor<1x2x1xf64>
  // CHECK: {{^}}global_lp_pool: f [1, 2, 1] = 5 1.414213{{[0-9]*}}{{$}}
  %global_lp_pool1 = onnx.node "GlobalLpPool"(%c2) {since_version = 22 : i64, node_attributes = {p = 1 : i64}}
    : (tensor<1x2x2xf64>) -> tensor<1x2x1xf64>
  // CHECK: {{^}}global_lp_pool1: f [1, 2, 1] = 7 2{{$}}
  %global_lp_pool3 = onnx.node "GlobalLpPool"(%c2) {since_version = 22 : i64, node_attributes = {p = 3 : i64}}
    : (tensor<1x2x2xf64>) -> tensor<1x2x1xf64>
  // CHECK: {{^}}global_lp_pool3: f [1, 2, 1] = 4.497941{{[0-9]*}} 1.259921{{[0-9]*}}{{$}}
  %global_average_pool = onnx.node "GlobalAveragePool"(%c3) {since_version = 22 : i64}
    : (tensor<1x2x2xf64>) -> tensor<1x2x1xf64>
  // CHECK: {{^}}global_average_pool: f [1, 2, 1] = -0.5 1.5{{$}}
  %global_max_pool = onnx.node "GlobalMaxPool"(%c4) {since_version = 22 : i64}
    : (tensor<1x2x2xf64>) -> tensor<1x2x1xf64>
  // CHECK: {{^}}global_max_pool: f [1, 2, 1] = 3 -1{{$}}
  %average_pool = onnx.node "AveragePool"(%c1) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>}}
    : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  // CHECK: {{^}}average_pool: f [1, 1, 2, 2] = 2.5 4 8.5 10{{$}}
  %average_pool_counts_pads = onnx.node "AveragePool"(%c1) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, count_include_pad = 1 : i64}}
    : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  // CHECK: {{^}}average_pool_counts_pads: f [1, 1, 2, 2] = 1.111111{{[0-9]*}} 2.666666{{[0-9]*}} 5.666666{{[0-9]*}} 10{{$}}
  %average_pool_ceil = onnx.node "AveragePool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, strides = array<i64: 2>, ceil_mode = 1 : i64}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}average_pool_ceil: f [1, 1, 3] = -0.5 3.5 -5{{$}}
  // Elements that ceil_mode adds are no padding.
  %average_pool_ceil_counts_pads = onnx.node "AveragePool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 3>, strides = array<i64: 3>, pads = array<i64: 1, 1>, ceil_mode = 1 : i64, count_include_pad = 1 : i64}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x2xf64>
  // CHECK: {{^}}average_pool_ceil_counts_pads: f [1, 1, 2] = -0.3333333{{[0-9]*}} 0.6666666{{[0-9]*}}{{$}}
  %average_pool_dilated = onnx.node "AveragePool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, dilations = array<i64: 2>}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}average_pool_dilated: f [1, 1, 3] = 2 1 -1{{$}}
  %average_pool_same_upper = onnx.node "AveragePool"(%c5) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, auto_pad = "SAME_UPPER"}}
    : (tensor<1x1x4xf64>) -> tensor<1x1x4xf64>
  // CHECK: {{^}}average_pool_same_upper: f [1, 1, 4] = 1.5 3 6 8{{$}}
  %average_pool_same_lower = onnx.node "AveragePool"(%c5) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, auto_pad = "SAME_LOWER"}}
    : (tensor<1x1x4xf64>) -> tensor<1x1x4xf64>
  // CHECK: {{^}}average_pool_same_lower: f [1, 1, 4] = 1 1.5 3 6{{$}}
  %max_pool = onnx.node "MaxPool"(%c1) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 3, 2>, strides = array<i64: 1, 2>, pads = array<i64: 1, 0, 1, 1>, auto_pad = "VALID"}}
    : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x2xf64>
  // CHECK: {{^}}max_pool: f [1, 1, 2, 2] = 9 11 13 15{{$}}
  %max_pool_ceil = onnx.node "MaxPool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, strides = array<i64: 2>, ceil_mode = 1 : i64}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x3xf64>
  // CHECK: {{^}}max_pool_ceil: f [1, 1, 3] = 1 4 -5{{$}}
  %max_pool_tail = onnx.node "MaxPool"(%c0) {since_version = 22 : i64, node_attributes = {kernel_shape = array<i64: 2>, strides = array<i64: 3>}}
    : (tensor<1x1x5xf64>) -> tensor<1x1x2xf64>
  // CHECK: {{^}}max_pool_tail: f [1, 1, 2] = 1 4{{$}}
  onnx.return %lp_pool, %lp_pool1, %lp_pool3, %lp_pool_ceil, %lp_pool_dilated, %lp_pool_planes, %global_lp_pool, %global_lp_pool1, %global_lp_pool3, %global_average_pool, %global_max_pool, %average_pool, %average_pool_counts_pads, %average_pool_ceil, %average_pool_ceil_counts_pads, %average_pool_dilated, %average_pool_same_upper, %average_pool_same_lower, %max_pool, %max_pool_ceil, %max_pool_tail : tensor<1x1x2xf64>, tensor<1x1x4xf64>, tensor<1x1x3xf64>, tensor<1x1x3xf64>, tensor<1x1x2xf64>, tensor<1x1x2x2xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>, tensor<1x1x3xf64>, tensor<1x1x2xf64>, tensor<1x1x3xf64>, tensor<1x1x4xf64>, tensor<1x1x4xf64>, tensor<1x1x2x2xf64>, tensor<1x1x3xf64>, tensor<1x1x2xf64>
}
