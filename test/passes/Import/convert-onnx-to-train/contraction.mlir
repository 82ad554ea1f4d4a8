// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that with one matrix on the right all rows are one matrix.
// CHECK: %[[ROWS:.*]] = train.reshape %[[X:[^ ,]*]] : (tensor<2x5x3xf32>) -> tensor<10x3xf32>
// CHECK: train.matmul %[[ROWS]], %{{.*}} -> tensor<10x4xf32>
// CHECK: train.reshape %{{.*}} -> tensor<2x5x4xf32>
onnx.graph @main(%i0: tensor<2x5x3xf32>, %i1: tensor<3x4xf32>) -> (tensor<2x5x4xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "MatMul"(%i0, %i1) {since_version = 13 : i64}
    : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
  onnx.return %o0 : tensor<2x5x4xf32>
}

// -----

// Tests that batch dims are broadcast explicitly.
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 0, 1, 2, 3>} : (tensor<7x1x5x3xf32>) -> tensor<7x2x5x3xf32>
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 1, 2, 3>} : (tensor<2x3x4xf32>) -> tensor<7x2x3x4xf32>
// CHECK: train.matmul
onnx.graph @main(%i0: tensor<7x1x5x3xf32>, %i1: tensor<2x3x4xf32>) -> (tensor<7x2x5x4xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "MatMul"(%i0, %i1) {since_version = 13 : i64}
    : (tensor<7x1x5x3xf32>, tensor<2x3x4xf32>) -> tensor<7x2x5x4xf32>
  onnx.return %o0 : tensor<7x2x5x4xf32>
}

// -----

// Tests that vectors are a row on the left and a column on the right.
// CHECK: train.matmul %{{.*}} : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<1x1xf32>
// CHECK: train.reshape %{{.*}} -> tensor<f32>
onnx.graph @main(%i0: tensor<3xf32>, %i1: tensor<3xf32>) -> (tensor<f32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "MatMul"(%i0, %i1) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  onnx.return %o0 : tensor<f32>
}

// -----

// Tests that Gemm scales product and addend.
// CHECK: %[[P:.*]] = train.matmul %{{.*}} {transpose_lhs} : (tensor<3x2xf32>, tensor<3x4xf32>)
// CHECK: %[[AP:.*]] = train.mul %[[P]]
// CHECK: %[[BC:.*]] = train.mul %{{.*}} : (tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[C:.*]] = train.broadcast %[[BC]]
// CHECK: train.add %[[AP]], %[[C]]
onnx.graph @main(%i0: tensor<3x2xf32>, %i1: tensor<3x4xf32>, %i2: tensor<4xf32>) -> (tensor<2x4xf32>)
    attributes {input_names = ["i0", "i1", "i2"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Gemm"(%i0, %i1, %i2) {since_version = 13 : i64, node_attributes = {transA = 1 : i64, alpha = 0.5 : f32, beta = 2.0 : f32}}
    : (tensor<3x2xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  onnx.return %o0 : tensor<2x4xf32>
}

// -----

// Tests that SAME_UPPER pads the odd element at the end, and a bias is added per channel.
// CHECK: train.conv %{{.*}} {dilations = array<i64: 1, 1>, groups = 2 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 0, 1>, strides = array<i64: 2, 1>}
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 1>} : (tensor<6xf32>) -> tensor<1x6x2x5xf32>
// CHECK: train.add
onnx.graph @main(%i0: tensor<1x4x4x5xf32>, %i1: tensor<6x2x3x3xf32>, %i2: tensor<6xf32>) -> (tensor<1x6x2x5xf32>)
    attributes {input_names = ["i0", "i1", "i2"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Conv"(%i0, %i1, %i2) {since_version = 22 : i64, node_attributes = {auto_pad = "SAME_UPPER", group = 2 : i64, strides = array<i64: 2, 1>}}
    : (tensor<1x4x4x5xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x2x5xf32>
  onnx.return %o0 : tensor<1x6x2x5xf32>
}

// -----

// Tests that ConvTranspose is a convolution of the spread input with the reversed filter.
// CHECK: train.pad %{{.*}} {interior = array<i64: 0, 0, 1>, low = array<i64: 0, 0, 0>} : (tensor<1x2x3xf32>) -> tensor<1x2x5xf32>
// CHECK: train.transpose %{{.*}} {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: train.gather
// CHECK: train.pad %{{.*}} -> tensor<1x2x9xf32>
// CHECK: train.conv %{{.*}} -> tensor<1x4x7xf32>
onnx.graph @main(%i0: tensor<1x2x3xf32>, %i1: tensor<2x4x3xf32>) -> (tensor<1x4x7xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "ConvTranspose"(%i0, %i1) {since_version = 22 : i64, node_attributes = {strides = array<i64: 2>}}
    : (tensor<1x2x3xf32>, tensor<2x4x3xf32>) -> tensor<1x4x7xf32>
  onnx.return %o0 : tensor<1x4x7xf32>
}
