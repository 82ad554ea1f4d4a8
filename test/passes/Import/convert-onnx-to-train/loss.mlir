// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that the mean of a cross-entropy is over the labels that are not ignored.
// CHECK: tensor<4xi64> {train.input = "i1", train.range = array<i64: 0, 3, -100>}
// CHECK: %[[LOSS:[^ ,]*]], %{{.*}} = train.softmax_cross_entropy %{{.*}} {ignore_index = -100 : i64}
// CHECK: %[[SUM:.*]] = train.reduce "sum" %[[LOSS]]
// CHECK: %[[COUNT:.*]] = train.reduce "sum"
// CHECK: train.div %[[SUM]], %[[COUNT]]
onnx.graph @main(%i0: tensor<4x3xf32>, %i1: tensor<4xi64>) -> (tensor<f32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "SoftmaxCrossEntropyLoss"(%i0, %i1) {since_version = 13 : i64, node_attributes = {ignore_index = -100 : i64}}
    : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
  onnx.return %o0 : tensor<f32>
}

// -----

// Tests that classes come last, and log probabilities are computed if used.
// CHECK: train.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>}
// CHECK: train.softmax_cross_entropy
// CHECK: train.exp
// CHECK: train.log
onnx.graph @main(%i0: tensor<2x3x5xf32>, %i1: tensor<2x5xi64>) -> (tensor<2x5xf32>, tensor<2x3x5xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o:2 = onnx.node "SoftmaxCrossEntropyLoss"(%i0, %i1) {since_version = 13 : i64, node_attributes = {reduction = "none"}}
    : (tensor<2x3x5xf32>, tensor<2x5xi64>) -> (tensor<2x5xf32>, tensor<2x3x5xf32>)
  onnx.return %o#0, %o#1 : tensor<2x5xf32>, tensor<2x3x5xf32>
}

// -----

// Tests that a weighted mean divides by the weights.
// CHECK: %[[PICKED:.*]] = train.reduce "sum"
// CHECK: train.neg %[[PICKED]]
// CHECK: train.gather
// CHECK: train.mul
// CHECK: train.div
onnx.graph @main(%i0: tensor<4x3xf32>, %i1: tensor<4xi32>, %i2: tensor<3xf32>) -> (tensor<f32>)
    attributes {input_names = ["i0", "i1", "i2"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "NegativeLogLikelihoodLoss"(%i0, %i1, %i2) {since_version = 13 : i64}
    : (tensor<4x3xf32>, tensor<4xi32>, tensor<3xf32>) -> tensor<f32>
  onnx.return %o0 : tensor<f32>
}
