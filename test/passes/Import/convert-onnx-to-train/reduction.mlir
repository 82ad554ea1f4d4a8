// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that axes come from an attribute or an operand, and kept dims are reshaped in.
// CHECK: %[[A:.*]] = train.reduce "sum" %{{.*}} {dims = array<i64: 1>}
// CHECK: train.reshape %[[A]] : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK: %[[B:.*]] = train.reduce "sum" %{{.*}} {dims = array<i64: 0>}
// CHECK: train.div %[[B]]
onnx.graph @main(%i0: tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %axes = onnx.initializer @axes {value = dense<[-2]> : tensor<1xi64>} : tensor<1xi64>
  %o0 = onnx.node "ReduceSum"(%i0) {since_version = 11 : i64, node_attributes = {axes = array<i64: 1>}}
    : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %o1 = onnx.node "ReduceMean"(%i0, %axes) {since_version = 18 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<3xf32>
  onnx.return %o0, %o1 : tensor<2x1xf32>, tensor<3xf32>
}

// -----

// Tests that without axes everything is reduced, or nothing where the node says so.
// CHECK: train.reduce "max" %{{.*}} {dims = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
// CHECK: return %{{.*}}, %[[X:[^ ,]*]] :
onnx.graph @main(%i0: tensor<2x3xf32>) -> (tensor<f32>, tensor<2x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "ReduceMax"(%i0) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<2x3xf32>) -> tensor<f32>
  %o1 = onnx.node "ReduceSum"(%i0) {since_version = 13 : i64, node_attributes = {noop_with_empty_axes = 1 : i64}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.return %o0, %o1 : tensor<f32>, tensor<2x3xf32>
}

// -----

// Tests that bools are reduced as bytes.
// CHECK: train.convert %{{.*}} -> tensor<4xi8>
// CHECK: train.reduce "max"
// CHECK: train.convert %{{.*}} -> tensor<i1>
onnx.graph @main(%i0: tensor<4xi1>) -> (tensor<i1>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "ReduceMax"(%i0) {since_version = 20 : i64, node_attributes = {keepdims = 0 : i64}}
    : (tensor<4xi1>) -> tensor<i1>
  onnx.return %o0 : tensor<i1>
}

// -----

// Tests that ArgMax takes the first of equal elements.
// CHECK: %[[MAX:.*]] = train.reduce "max"
// CHECK: %[[AT:.*]] = train.compare "eq"
// CHECK: %[[NAN:.*]] = train.is_nan
// CHECK: %[[BEST:.*]] = train.or %[[AT]], %[[NAN]]
// CHECK: %[[CANDIDATE:.*]] = train.select %[[BEST]]
// CHECK: train.reduce "min" %[[CANDIDATE]]
onnx.graph @main(%i0: tensor<2x3xf32>) -> (tensor<2xi64>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "ArgMax"(%i0) {since_version = 13 : i64, node_attributes = {axis = 1 : i64, keepdims = 0 : i64}}
    : (tensor<2x3xf32>) -> tensor<2xi64>
  onnx.return %o0 : tensor<2xi64>
}

// -----

// Tests that CumSum doubles its reach each round.
// CHECK: train.pad %{{.*}} {interior = array<i64: 0>, low = array<i64: 1>}
// CHECK: train.add
// CHECK: train.pad %{{.*}} {interior = array<i64: 0>, low = array<i64: 2>}
// CHECK: train.add
// CHECK-NEXT: return
onnx.graph @main(%i0: tensor<4xi64>) -> (tensor<4xi64>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %axis = onnx.initializer @axis {value = dense<0> : tensor<i64>} : tensor<i64>
  %o0 = onnx.node "CumSum"(%i0, %axis) {since_version = 14 : i64}
    : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  onnx.return %o0 : tensor<4xi64>
}
