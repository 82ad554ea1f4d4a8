// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that numpy broadcasting becomes explicit, on both sides.
// CHECK: func.func @forward(%[[A:[^:]*]]: tensor<2x1x4xf32> {{.*}}, %[[B:[^:]*]]: tensor<3x1xf32>
// CHECK: %[[X:.*]] = train.broadcast %[[A]] {dims = array<i64: 0, 1, 2>} : (tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
// CHECK: %[[Y:.*]] = train.broadcast %[[B]] {dims = array<i64: 1, 2>} : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
// CHECK: train.sub %[[X]], %[[Y]]
onnx.graph @main(%i0: tensor<2x1x4xf32>, %i1: tensor<3x1xf32>) -> (tensor<2x3x4xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Sub"(%i0, %i1) {since_version = 14 : i64}
    : (tensor<2x1x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  onnx.return %o0 : tensor<2x3x4xf32>
}

// -----

// Tests that a scalar constant is broadcast while folding.
// CHECK: %[[TWO:.*]] = train.constant dense<2.000000e+00> : tensor<3xf32>
// CHECK: train.mul %{{.*}}, %[[TWO]]
onnx.graph @main(%i0: tensor<3xf32>) -> (tensor<3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %two = onnx.initializer @two {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %o0 = onnx.node "Mul"(%i0, %two) {since_version = 14 : i64}
    : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  onnx.return %o0 : tensor<3xf32>
}

// -----

// Tests that common constant powers need no logarithm.
// CHECK: train.mul %[[X:.*]], %[[X]]
// CHECK-NOT: train.pow
// CHECK: train.sqrt
// CHECK: train.pow
onnx.graph @main(%i0: tensor<3xf32>, %i1: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0", "o1", "o2"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %two = onnx.initializer @two {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %half = onnx.initializer @half {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %o0 = onnx.node "Pow"(%i0, %two) {since_version = 15 : i64}
    : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %o1 = onnx.node "Pow"(%i0, %half) {since_version = 15 : i64}
    : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %o2 = onnx.node "Pow"(%i0, %i1) {since_version = 15 : i64}
    : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  onnx.return %o0, %o1, %o2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// Tests that variadic operators fold from the left, and Mean divides by their number.
// CHECK: %[[AB:.*]] = train.add
// CHECK: %[[ABC:.*]] = train.add %[[AB]]
// CHECK: %[[N:.*]] = train.constant dense<3.000000e+00>
// CHECK: train.div %[[ABC]], %[[N]]
onnx.graph @main(%i0: tensor<3xf32>, %i1: tensor<3xf32>, %i2: tensor<3xf32>) -> (tensor<3xf32>)
    attributes {input_names = ["i0", "i1", "i2"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Mean"(%i0, %i1, %i2) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  onnx.return %o0 : tensor<3xf32>
}

// -----

// Tests that comparisons, logic and selection keep their operands in order.
// CHECK: %[[LT:.*]] = train.compare "lt" %[[A:.*]], %[[B:[^ ,]*]] :
// CHECK: %[[NAN:.*]] = train.is_nan %[[A]]
// CHECK: %[[XOR:.*]] = train.compare "ne" %[[LT]], %[[NAN]]
// CHECK: train.select %[[XOR]], %[[A]], %[[B]]
onnx.graph @main(%i0: tensor<3xf32>, %i1: tensor<3xf32>) -> (tensor<3xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %lt = onnx.node "Less"(%i0, %i1) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %nan = onnx.node "IsNaN"(%i0) {since_version = 20 : i64}
    : (tensor<3xf32>) -> tensor<3xi1>
  %xor = onnx.node "Xor"(%lt, %nan) {since_version = 7 : i64}
    : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  %o0 = onnx.node "Where"(%xor, %i0, %i1) {since_version = 16 : i64}
    : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  onnx.return %o0 : tensor<3xf32>
}

// -----

// Tests that integers are negated and compared without float ops.
// CHECK: %[[ZERO:.*]] = train.constant dense<0> : tensor<3xi64>
// CHECK: %[[NEG:.*]] = train.sub %[[ZERO]], %[[X:[^ ,]*]] :
// CHECK: train.max %[[X]], %[[NEG]]
onnx.graph @main(%i0: tensor<3xi64>) -> (tensor<3xi64>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Abs"(%i0) {since_version = 13 : i64}
    : (tensor<3xi64>) -> tensor<3xi64>
  onnx.return %o0 : tensor<3xi64>
}
