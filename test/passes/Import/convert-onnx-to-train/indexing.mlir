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

// Tests that GatherElements looks up positions in a row where the dims before the
// axis are the rows'.
// CHECK: train.gather %{{.*}}, %{{.*}} {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<4x6xf32>, tensor<4x2x2xi64>) -> tensor<4x2x2xf32>
onnx.graph @main(%i0: tensor<4x3x2xf32>, %i1: tensor<4x2x2xi64>) -> (tensor<4x2x2xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "GatherElements"(%i0, %i1) {since_version = 13 : i64, node_attributes = {axis = 1 : i64}}
    : (tensor<4x3x2xf32>, tensor<4x2x2xi64>) -> tensor<4x2x2xf32>
  onnx.return %o0 : tensor<4x2x2xf32>
}

// -----

// Tests that indices that count up with the result's dims look nothing up: a mask
// at [arange(2)[:, None, None], arange(3)], a part of it, its transpose.
// CHECK-NOT: train.gather
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 0, 2>} : (tensor<2x3xi1>) -> tensor<2x1x3xi1>
// CHECK-NOT: train.gather
// CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 1>
// CHECK-NOT: train.gather
// CHECK: train.transpose
// CHECK: return
onnx.graph @main(%i0: tensor<2x3xi1>) -> (tensor<2x1x3xi1>, tensor<2x2xi1>, tensor<3x2xi1>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1", "o2"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %all = onnx.initializer @all {folded, value = dense<[[[[0, 0], [0, 1], [0, 2]]], [[[1, 0], [1, 1], [1, 2]]]]> : tensor<2x1x3x2xi64>} : tensor<2x1x3x2xi64>
  %part = onnx.initializer @part {folded, value = dense<[[[-2, 1], [-2, 2]], [[-1, 1], [-1, 2]]]> : tensor<2x2x2xi64>} : tensor<2x2x2xi64>
  %turned = onnx.initializer @turned {folded, value = dense<[[[0, 0], [1, 0]], [[0, 1], [1, 1]], [[0, 2], [1, 2]]]> : tensor<3x2x2xi64>} : tensor<3x2x2xi64>
  %o0 = onnx.node "GatherND"(%i0, %all) {since_version = 13 : i64}
    : (tensor<2x3xi1>, tensor<2x1x3x2xi64>) -> tensor<2x1x3xi1>
  %o1 = onnx.node "GatherND"(%i0, %part) {since_version = 13 : i64}
    : (tensor<2x3xi1>, tensor<2x2x2xi64>) -> tensor<2x2xi1>
  %o2 = onnx.node "GatherND"(%i0, %turned) {since_version = 13 : i64}
    : (tensor<2x3xi1>, tensor<3x2x2xi64>) -> tensor<3x2xi1>
  onnx.return %o0, %o1, %o2 : tensor<2x1x3xi1>, tensor<2x2xi1>, tensor<3x2xi1>
}

// -----

// Tests that each sample reads a row of its own: x[arange(4), lengths], for which
// the samples are not counted.
// CHECK-NOT: train.concat
// CHECK: train.gather %{{.*}}, %{{.*}} {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<4x3x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
onnx.graph @main(%i0: tensor<4x3x2xf32>, %i1: tensor<4x1xi64>) -> (tensor<4x2xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %samples = onnx.initializer @samples {folded, value = dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>} : tensor<4x1xi64>
  %at = onnx.node "Concat"(%samples, %i1) {since_version = 13 : i64, node_attributes = {axis = -1 : i64}}
    : (tensor<4x1xi64>, tensor<4x1xi64>) -> tensor<4x2xi64>
  %o0 = onnx.node "GatherND"(%i0, %at) {since_version = 13 : i64}
    : (tensor<4x3x2xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  onnx.return %o0 : tensor<4x2xf32>
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
