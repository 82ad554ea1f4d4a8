// Tests norms against their formulas, written in numpy.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<1x4xf64>, tensor<1x1xf64>, tensor<1x1xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2x2xf64>, tensor<1x4x2xf64>, tensor<1x4x2xf64>, tensor<2x2x1x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<1x4x2xf64>, tensor<1x4x2xf64>, tensor<1x4x2xf64>)
    attributes {input_names = [], output_names = ["layer_norm0", "layer_norm1", "layer_norm2", "rms_norm", "rms_norm_all", "instance_norm", "group_norm_of_groups", "group_norm_of_channels", "mean_variance_norm", "lp_norm1", "lp_norm2", "lrn", "lrn_even", "lrn_wide"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<[[1.0, 2.0, 4.0, 9.0]]> : tensor<1x4xf64>} : tensor<1x4xf64>
  %c1 = onnx.initializer @c1 {value = dense<[1.0, 2.0, 0.5, 1.0]> : tensor<4xf64>} : tensor<4xf64>
  %c2 = onnx.initializer @c2 {value = dense<[0.0, 1.0, 0.0, -1.0]> : tensor<4xf64>} : tensor<4xf64>
  %c3 = onnx.initializer @c3 {value = dense<[[1.0, 2.0], [4.0, -8.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c4 = onnx.initializer @c4 {value = dense<[1.0, 0.5]> : tensor<2xf64>} : tensor<2xf64>
  %c5 = onnx.initializer @c5 {value = dense<2.0> : tensor<f64>} : tensor<f64>
  %c6 = onnx.initializer @c6 {value = dense<[[[1.0, 3.0], [2.0, -4.0]], [[0.0, 0.5], [7.0, 9.0]]]> : tensor<2x2x2xf64>} : tensor<2x2x2xf64>
  %c7 = onnx.initializer @c7 {value = dense<[0.0, 1.0]> : tensor<2xf64>} : tensor<2xf64>
  %c8 = onnx.initializer @c8 {value = dense<[[[1.0, 2.0], [3.0, 4.0], [-5.0, 6.0], [7.0, 8.0]]]> : tensor<1x4x2xf64>} : tensor<1x4x2xf64>
  %c9 = onnx.initializer @c9 {value = dense<[1.0, 2.0]> : tensor<2xf64>} : tensor<2xf64>
  %c10 = onnx.initializer @c10 {value = dense<[0.0, -1.0]> : tensor<2xf64>} : tensor<2xf64>
  %c11 = onnx.initializer @c11 {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>} : tensor<4xf64>
  %c12 = onnx.initializer @c12 {value = dense<[0.0, -1.0, 1.0, 0.0]> : tensor<4xf64>} : tensor<4xf64>
  %c13 = onnx.initializer @c13 {value = dense<[[[[1.0, 3.0]], [[2.0, -4.0]]], [[[0.0, 0.5]], [[7.0, 9.0]]]]> : tensor<2x2x1x2xf64>} : tensor<2x2x1x2xf64>
  %c14 = onnx.initializer @c14 {value = dense<[[1.0, -3.0], [0.0, 0.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %c15 = onnx.initializer @c15 {value = dense<[[3.0, 0.0], [4.0, -2.0]]> : tensor<2x2xf64>} : tensor<2x2xf64>
  %layer_norm:3 = onnx.node "LayerNormalization"(%c0, %c1, %c2) {since_version = 17 : i64, node_attributes = {axis = -1 : i64}}
    : (tensor<1x4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<1x4xf64>, tensor<1x1xf64>, tensor<1x1xf64>)
  // CHECK: {{^}}layer_norm0: f [1, 4] = -0.9733280{{[0-9]*}} -0.2977706{{[0-9]*}} 0 0.6222133{{[0-9]*}}{{$}}
  // CHECK: {{^}}layer_norm1: f [1, 1] = 4{{$}}
  // CHECK: {{^}}layer_norm2: f [1, 1] = 0.3244426{{[0-9]*}}{{$}}
  %rms_norm = onnx.node "RMSNormalization"(%c3, %c4) {since_version = 23 : i64, node_attributes = {epsilon = 0.5 : f32}}
    : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}rms_norm: f [2, 2] = 0.5773502{{[0-9]*}} 0.5773502{{[0-9]*}} 0.6285393{{[0-9]*}} -0.6285393{{[0-9]*}}{{$}}
  %rms_norm_all = onnx.node "RMSNormalization"(%c3, %c5) {since_version = 23 : i64, node_attributes = {axis = 0 : i64}}
    : (tensor<2x2xf64>, tensor<f64>) -> tensor<2x2xf64>
  // CHECK: {{^}}rms_norm_all: f [2, 2] = 0.4338608{{[0-9]*}} 0.8677216{{[0-9]*}} 1.735443{{[0-9]*}} -3.470886{{[0-9]*}}{{$}}
  %instance_norm = onnx.node "InstanceNormalization"(%c6, %c4, %c7) {since_version = 22 : i64}
    : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x2xf64>
  // CHECK: {{^}}instance_norm: f [2, 2, 2] = -0.99999{{[0-9]*}} 0.99999{{[0-9]*}} 1.499999{{[0-9]*}} 0.5000002{{[0-9]*}} -0.9999200{{[0-9]*}} 0.9999200{{[0-9]*}} 0.500002{{[0-9]*}} 1.499997{{[0-9]*}}{{$}}
  // Scale and bias are per group in opset 18, per channel from 21 on.
  %group_norm_of_groups = onnx.node "GroupNormalization"(%c8, %c9, %c10) {since_version = 18 : i64, node_attributes = {num_groups = 2 : i64}}
    : (tensor<1x4x2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<1x4x2xf64>
  // CHECK: {{^}}group_norm_of_groups: f [1, 4, 2] = -1.341635{{[0-9]*}} -0.4472118{{[0-9]*}} 0.4472118{{[0-9]*}} 1.341635{{[0-9]*}} -4.432464{{[0-9]*}} -0.2372300{{[0-9]*}} 0.1441548{{[0-9]*}} 0.5255398{{[0-9]*}}{{$}}
  %group_norm_of_channels = onnx.node "GroupNormalization"(%c8, %c11, %c12) {since_version = 21 : i64, node_attributes = {num_groups = 2 : i64}}
    : (tensor<1x4x2xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<1x4x2xf64>
  // CHECK: {{^}}group_norm_of_channels: f [1, 4, 2] = -1.341635{{[0-9]*}} -0.4472118{{[0-9]*}} -0.1055763{{[0-9]*}} 1.683270{{[0-9]*}} -4.148697{{[0-9]*}} 2.144154{{[0-9]*}} 2.288309{{[0-9]*}} 3.051079{{[0-9]*}}{{$}}
  %mean_variance_norm = onnx.node "MeanVarianceNormalization"(%c13) {since_version = 13 : i64}
    : (tensor<2x2x1x2xf64>) -> tensor<2x2x1x2xf64>
  // CHECK: {{^}}mean_variance_norm: f [2, 2, 1, 2] = -0.1097642{{[0-9]*}} 1.646463{{[0-9]*}} -0.2985111{{[0-9]*}} -1.492555{{[0-9]*}} -0.9878783{{[0-9]*}} -0.548821{{[0-9]*}} 0.6965260{{[0-9]*}} 1.094540{{[0-9]*}}{{$}}
  // A vector of zeros stays one.
  %lp_norm1 = onnx.node "LpNormalization"(%c14) {since_version = 22 : i64, node_attributes = {p = 1 : i64}}
    : (tensor<2x2xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}lp_norm1: f [2, 2] = 0.25 -0.75 0 0{{$}}
  %lp_norm2 = onnx.node "LpNormalization"(%c15) {since_version = 22 : i64, node_attributes = {axis = 0 : i64}}
    : (tensor<2x2xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}lp_norm2: f [2, 2] = 0.6 0 0.8 -1{{$}}
  %lrn = onnx.node "LRN"(%c8) {since_version = 13 : i64, node_attributes = {size = 3 : i64, alpha = 3.0 : f32, beta = 0.5 : f32, bias = 2.0 : f32}}
    : (tensor<1x4x2xf64>) -> tensor<1x4x2xf64>
  // CHECK: {{^}}lrn: f [1, 4, 2] = 0.2886751{{[0-9]*}} 0.4264014{{[0-9]*}} 0.4931969{{[0-9]*}} 0.5252257{{[0-9]*}} -0.5423261{{[0-9]*}} 0.5523447{{[0-9]*}} 0.8029550{{[0-9]*}} 0.7921180{{[0-9]*}}{{$}}
  // An even size reaches one channel further up.
  %lrn_even = onnx.node "LRN"(%c8) {since_version = 13 : i64, node_attributes = {size = 2 : i64, alpha = 2.0 : f32, beta = 1.0 : f32}}
    : (tensor<1x4x2xf64>) -> tensor<1x4x2xf64>
  // CHECK: {{^}}lrn_even: f [1, 4, 2] = 0.09090909{{[0-9]*}} 0.09523809{{[0-9]*}} 0.08571428{{[0-9]*}} 0.07547169{{[0-9]*}} -0.06666666{{[0-9]*}} 0.05940594{{[0-9]*}} 0.14 0.1230769{{[0-9]*}}{{$}}
  %lrn_wide = onnx.node "LRN"(%c8) {since_version = 13 : i64, node_attributes = {size = 7 : i64}}
    : (tensor<1x4x2xf64>) -> tensor<1x4x2xf64>
  // CHECK: {{^}}lrn_wide: f [1, 4, 2] = 0.9991009{{[0-9]*}} 1.997432{{[0-9]*}} 2.997302{{[0-9]*}} 3.994864{{[0-9]*}} -4.995504{{[0-9]*}} 5.992297{{[0-9]*}} 6.993706{{[0-9]*}} 7.989729{{[0-9]*}}{{$}}
  onnx.return %layer_norm#0, %layer_norm#1, %layer_norm#2, %rms_norm, %rms_norm_all, %instance_norm, %group_norm_of_groups, %group_norm_of_channels, %mean_variance_norm, %lp_norm1, %lp_norm2, %lrn, %lrn_even, %lrn_wide : tensor<1x4xf64>, tensor<1x1xf64>, tensor<1x1xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2x2xf64>, tensor<1x4x2xf64>, tensor<1x4x2xf64>, tensor<2x2x1x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<1x4x2xf64>, tensor<1x4x2xf64>, tensor<1x4x2xf64>
}
