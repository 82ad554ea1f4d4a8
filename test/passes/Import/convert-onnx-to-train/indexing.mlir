// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that constant indices that count up are a slice.
// CHECK: train.slice %{{.*}} {offsets = array<i64: 1, 0>, strides = array<i64: 2, 1>} : (tensor<6x4xf32>) -> tensor<3x4xf32>
// CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 3>
// CHECK: train.reshape %{{.*}} -> tensor<6xf32>
onnx.graph @main(%i0: tensor<6x4xf32>) -> (tensor<3x4xf32>, tensor<6xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %at = onnx.initializer @at {value = dense<[1, 3, 5]> : tensor<3xi64>} : tensor<3xi64>
  %last = onnx.initializer @last {value = dense<-1> : tensor<i64>} : tensor<i64>
  %o0 = onnx.node "Gather"(%i0, %at) {since_version = 13 : i64}
    : (tensor<6x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %o1 = onnx.node "Gather"(%i0, %last) {since_version = 13 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<6x4xf32>, tensor<i64>) -> tensor<6xf32>
  onnx.return %o0, %o1 : tensor<3x4xf32>, tensor<6xf32>
}

// -----

// Tests that GatherElements looks up positions in the flat table.
// CHECK: train.range = array<i64: -2, 2>
// CHECK: %[[FLAT:.*]] = train.reshape %{{.*}} : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK: train.gather %[[FLAT]], %{{.*}} {dim = 0 : i64} : (tensor<6xf32>, tensor<1x3xi64>) -> tensor<1x3xf32>
onnx.graph @main(%i0: tensor<2x3xf32>, %i1: tensor<1x3xi32>) -> (tensor<1x3xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "GatherElements"(%i0, %i1) {since_version = 13 : i64}
    : (tensor<2x3xf32>, tensor<1x3xi32>) -> tensor<1x3xf32>
  onnx.return %o0 : tensor<1x3xf32>
}

// -----

// Tests that OneHot compares with every class.
// CHECK: %[[HOT:.*]] = train.compare "eq"
// CHECK: train.select %[[HOT]]
onnx.graph @main(%i0: tensor<4xi64>) -> (tensor<4x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %depth = onnx.initializer @depth {value = dense<3> : tensor<i64>} : tensor<i64>
  %values = onnx.initializer @values {value = dense<[0.0, 1.0]> : tensor<2xf32>} : tensor<2xf32>
  %o0 = onnx.node "OneHot"(%i0, %depth, %values) {since_version = 11 : i64}
    : (tensor<4xi64>, tensor<i64>, tensor<2xf32>) -> tensor<4x3xf32>
  onnx.return %o0 : tensor<4x3xf32>
}

// -----

// Tests that Trilu compares row and column.
// CHECK: %[[KEPT:.*]] = train.compare "le"
// CHECK: train.select %[[KEPT]], %{{.*}}, %{{.*}} -> tensor<2x3x3xf32>
onnx.graph @main(%i0: tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Trilu"(%i0) {since_version = 14 : i64, node_attributes = {upper = 0 : i64}}
    : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  onnx.return %o0 : tensor<2x3x3xf32>
}
