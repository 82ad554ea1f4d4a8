// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that one matmul projects the inputs of all steps and that a split makes
// one value of each.
// CHECK: %[[ALL:.*]] = train.matmul %{{.*}} {transpose_rhs} : (tensor<6x5xf32>, tensor<16x5xf32>) -> tensor<6x16xf32>
// CHECK: %[[STEPS:.*]]:3 = train.split %{{.*}} {dim = 0 : i64} : (tensor<3x2x16xf32>) -> (tensor<1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>)
// CHECK-COUNT-3: train.matmul %{{.*}} {transpose_rhs} : (tensor<2x4xf32>, tensor<16x4xf32>) -> tensor<2x16xf32>
// CHECK-NOT: train.matmul
// CHECK: train.concat %{{.*}} {dim = 0 : i64} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<3x1x2x4xf32>
onnx.graph @main(%x: tensor<3x2x5xf32>) -> (tensor<3x1x2x4xf32>, tensor<1x2x4xf32>)
    attributes {input_names = ["x"], output_names = ["y", "c"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %w = onnx.initializer @w {value = dense<1.0> : tensor<1x16x5xf32>} : tensor<1x16x5xf32>
  %r = onnx.initializer @r {value = dense<1.0> : tensor<1x16x4xf32>} : tensor<1x16x4xf32>
  %y, %h, %c = onnx.node "LSTM"(%x, %w, %r) {since_version = 22 : i64, node_attributes = {hidden_size = 4 : i64}}
    : (tensor<3x2x5xf32>, tensor<1x16x5xf32>, tensor<1x16x4xf32>) -> (tensor<3x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  onnx.return %y, %c : tensor<3x1x2x4xf32>, tensor<1x2x4xf32>
}

// -----

// Tests that a GRU whose reset comes after the matmul adds the candidate's bias
// before the reset: the projection gets the other biases alone.
// CHECK: train.pad %{{.*}} : (tensor<8xf32>) -> tensor<12xf32>
// CHECK: train.matmul %{{.*}} {transpose_rhs} : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
// CHECK: train.matmul %{{.*}} {transpose_rhs} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
onnx.graph @main(%x: tensor<1x2x5xf32>) -> (tensor<1x2x4xf32>)
    attributes {input_names = ["x"], output_names = ["h"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %w = onnx.initializer @w {value = dense<1.0> : tensor<1x12x5xf32>} : tensor<1x12x5xf32>
  %r = onnx.initializer @r {value = dense<1.0> : tensor<1x12x4xf32>} : tensor<1x12x4xf32>
  %b = onnx.initializer @b {value = dense<1.0> : tensor<1x24xf32>} : tensor<1x24xf32>
  %y, %h = onnx.node "GRU"(%x, %w, %r, %b) {since_version = 22 : i64, node_attributes = {hidden_size = 4 : i64, linear_before_reset = 1 : i64}}
    : (tensor<1x2x5xf32>, tensor<1x12x5xf32>, tensor<1x12x4xf32>, tensor<1x24xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  onnx.return %h : tensor<1x2x4xf32>
}

// -----

// Tests that sequences that have ended keep their state, and that an activation
// is what the node says.
// CHECK: %[[RUNS:.*]] = train.compare "gt"
// CHECK: train.relu
// CHECK: train.select
onnx.graph @main(%x: tensor<2x2x5xf32>, %n: tensor<2xi32>) -> (tensor<1x2x4xf32>)
    attributes {input_names = ["x", "n"], output_names = ["h"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %none = onnx.none : none
  %w = onnx.initializer @w {value = dense<1.0> : tensor<1x4x5xf32>} : tensor<1x4x5xf32>
  %r = onnx.initializer @r {value = dense<1.0> : tensor<1x4x4xf32>} : tensor<1x4x4xf32>
  %y, %h = onnx.node "RNN"(%x, %w, %r, %none, %n) {since_version = 22 : i64, node_attributes = {hidden_size = 4 : i64, activations = ["Relu"]}}
    : (tensor<2x2x5xf32>, tensor<1x4x5xf32>, tensor<1x4x4xf32>, none, tensor<2xi32>) -> (tensor<2x1x2x4xf32>, tensor<1x2x4xf32>)
  onnx.return %h : tensor<1x2x4xf32>
}
