// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that LayerNormalization without a bias adds zeros, and its mean keeps its dims.
// CHECK: %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = train.layer_norm %{{.*}}, %{{.*}}, %[[ZERO]] {axis = 1 : i64, epsilon = 1.000000e-05 : f64}
// CHECK: train.reshape %[[MEAN]] : (tensor<2xf32>) -> tensor<2x1xf32>
onnx.graph @main(%i0: tensor<2x4xf32>, %i1: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o:2 = onnx.node "LayerNormalization"(%i0, %i1) {since_version = 17 : i64, node_attributes = {epsilon = 1.000000e-05 : f32}}
    : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  onnx.return %o#0, %o#1 : tensor<2x4xf32>, tensor<2x1xf32>
}

// -----

// Tests that half floats are normalised as floats.
// CHECK: train.convert %{{.*}} -> tensor<2x4xf32>
// CHECK: train.layer_norm
// CHECK: train.convert %{{.*}} -> tensor<2x4xf16>
onnx.graph @main(%i0: tensor<2x4xf16>, %i1: tensor<4xf16>) -> (tensor<2x4xf16>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "LayerNormalization"(%i0, %i1) {since_version = 17 : i64}
    : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  onnx.return %o0 : tensor<2x4xf16>
}

// -----

// Tests that a batch norm without training_mode has momentum and updates unbiased variances, one with it biased ones.
// CHECK: train.batch_norm %{{.*}} {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64, momentum = 9.000000e-01 : f64, unbiased}
// CHECK: train.batch_norm %{{.*}} {channel_dim = 1 : i64, epsilon = 1.000000e-05 : f64, momentum = 8.000000e-01 : f64} :
onnx.graph @main(%i0: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %scale = onnx.initializer @scale {value = dense<1.0> : tensor<3xf32>} : tensor<3xf32>
  %bias = onnx.initializer @bias {value = dense<0.0> : tensor<3xf32>} : tensor<3xf32>
  %mean = onnx.initializer @mean {value = dense<0.0> : tensor<3xf32>} : tensor<3xf32>
  %var = onnx.initializer @var {value = dense<1.0> : tensor<3xf32>} : tensor<3xf32>
  %o0 = onnx.node "BatchNormalization"(%i0, %scale, %bias, %mean, %var) {since_version = 9 : i64, node_attributes = {momentum = 0.9 : f32}}
    : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %o1 = onnx.node "BatchNormalization"(%i0, %scale, %bias, %mean, %var) {since_version = 15 : i64, node_attributes = {training_mode = 1 : i64, momentum = 0.8 : f32}}
    : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  onnx.return %o0, %o1 : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// -----

// Tests that in training mode with statistics that are inputs, a batch norm returns new ones.
// CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[VAR:.*]] = train.batch_norm_training
// CHECK: train.add
// CHECK: return %[[Y]]
onnx.graph @main(%i0: tensor<2x3x4xf32>, %i1: tensor<3xf32>, %i2: tensor<3xf32>, %i3: tensor<3xf32>, %i4: tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>)
    attributes {input_names = ["i0", "i1", "i2", "i3", "i4"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o:2 = onnx.node "BatchNormalization"(%i0, %i1, %i2, %i3, %i4) {since_version = 15 : i64, node_attributes = {training_mode = 1 : i64}}
    : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>)
  onnx.return %o#0, %o#1 : tensor<2x3x4xf32>, tensor<3xf32>
}

// -----

// Tests that group norm scales per group in opset 18 and per channel from 21 on.
// CHECK: train.layer_norm %{{.*}} {axis = 2 : i64
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 1>} : (tensor<2xf32>) -> tensor<1x2x10xf32>
// CHECK: train.layer_norm
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<1x4x5xf32>
onnx.graph @main(%i0: tensor<1x4x5xf32>, %i1: tensor<2xf32>, %i2: tensor<4xf32>) -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>)
    attributes {input_names = ["i0", "i1", "i2"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "GroupNormalization"(%i0, %i1, %i1) {since_version = 18 : i64, node_attributes = {num_groups = 2 : i64}}
    : (tensor<1x4x5xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x4x5xf32>
  %o1 = onnx.node "GroupNormalization"(%i0, %i2, %i2) {since_version = 21 : i64, node_attributes = {num_groups = 2 : i64}}
    : (tensor<1x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x5xf32>
  onnx.return %o0, %o1 : tensor<1x4x5xf32>, tensor<1x4x5xf32>
}
