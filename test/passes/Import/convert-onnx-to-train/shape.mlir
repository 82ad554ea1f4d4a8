// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that no reshape reads another.
// CHECK: func.func @forward(%[[X:[^:]*]]:
// CHECK: %[[Y:.*]] = train.reshape %[[X]] : (tensor<2x3x1xf32>) -> tensor<1x6xf32>
// CHECK-NEXT: return %[[Y]]
onnx.graph @main(%i0: tensor<2x3x1xf32>) -> (tensor<1x6xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %shape = onnx.initializer @shape {value = dense<[6]> : tensor<1xi64>} : tensor<1xi64>
  %a = onnx.node "Squeeze"(%i0) {since_version = 13 : i64}
    : (tensor<2x3x1xf32>) -> tensor<2x3xf32>
  %b = onnx.node "Reshape"(%a, %shape) {since_version = 21 : i64}
    : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<6xf32>
  %o0 = onnx.node "Unsqueeze"(%b, %shape) {since_version = 21 : i64}
    : (tensor<6xf32>, tensor<1xi64>) -> tensor<1x6xf32>
  onnx.return %o0 : tensor<1x6xf32>
}

// -----

// Tests that Slice clamps its ends, counts from the end, and steps back by a gather.
// CHECK: train.slice %{{.*}} {offsets = array<i64: 2, 0>, strides = array<i64: 2, 1>} : (tensor<6x4xf32>) -> tensor<2x4xf32>
// CHECK: %[[BACK:.*]] = train.constant dense<[3, 2, 1, 0]>
// CHECK: train.gather %{{.*}}, %[[BACK]] {dim = 1 : i64}
onnx.graph @main(%i0: tensor<6x4xf32>) -> (tensor<2x4xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %starts = onnx.initializer @starts {value = dense<[-4, -1]> : tensor<2xi64>} : tensor<2xi64>
  %ends = onnx.initializer @ends {value = dense<[9223372036854775807, -9223372036854775808]> : tensor<2xi64>} : tensor<2xi64>
  %axes = onnx.initializer @axes {value = dense<[0, 1]> : tensor<2xi64>} : tensor<2xi64>
  %steps = onnx.initializer @steps {value = dense<[2, -1]> : tensor<2xi64>} : tensor<2xi64>
  %o0 = onnx.node "Slice"(%i0, %starts, %ends, %axes, %steps) {since_version = 13 : i64}
    : (tensor<6x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x4xf32>
  onnx.return %o0 : tensor<2x4xf32>
}

// -----

// Tests that Split, Concat and Expand follow the types.
// CHECK: %[[A:.*]] = train.slice %{{.*}} {offsets = array<i64: 0, 0>
// CHECK: %[[B:.*]] = train.slice %{{.*}} {offsets = array<i64: 0, 2>
// CHECK: train.concat %[[B]], %[[A]] {dim = 1 : i64}
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 1, 2>} : (tensor<1x3xf32>) -> tensor<2x4x3xf32>
onnx.graph @main(%i0: tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<2x4x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %p:2 = onnx.node "Split"(%i0) {since_version = 18 : i64, node_attributes = {axis = 1 : i64, num_outputs = 2 : i64}}
    : (tensor<1x3xf32>) -> (tensor<1x2xf32>, tensor<1x1xf32>)
  %o0 = onnx.node "Concat"(%p#1, %p#0) {since_version = 13 : i64, node_attributes = {axis = -1 : i64}}
    : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
  %to = onnx.initializer @to {value = dense<[2, 4, 3]> : tensor<3xi64>} : tensor<3xi64>
  %o1 = onnx.node "Expand"(%i0, %to) {since_version = 13 : i64}
    : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x4x3xf32>
  onnx.return %o0, %o1 : tensor<1x3xf32>, tensor<2x4x3xf32>
}

// -----

// Tests that padding with zeros is a pad, with another value a select, by reflection a gather.
// CHECK: train.pad %{{.*}} {interior = array<i64: 0>, low = array<i64: 1>} : (tensor<3xf32>) -> tensor<5xf32>
// CHECK: %[[INSIDE:.*]] = train.pad %{{.*}} : (tensor<3xi1>) -> tensor<5xi1>
// CHECK: train.select %[[INSIDE]]
// CHECK: %[[FROM:.*]] = train.constant dense<[1, 0, 1, 2, 1]>
// CHECK: train.gather %{{.*}}, %[[FROM]]
onnx.graph @main(%i0: tensor<3xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1", "o2"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %pads = onnx.initializer @pads {value = dense<[1, 1]> : tensor<2xi64>} : tensor<2xi64>
  %one = onnx.initializer @one {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %o0 = onnx.node "Pad"(%i0, %pads) {since_version = 21 : i64}
    : (tensor<3xf32>, tensor<2xi64>) -> tensor<5xf32>
  %o1 = onnx.node "Pad"(%i0, %pads, %one) {since_version = 21 : i64}
    : (tensor<3xf32>, tensor<2xi64>, tensor<f32>) -> tensor<5xf32>
  %o2 = onnx.node "Pad"(%i0, %pads) {since_version = 21 : i64, node_attributes = {mode = "reflect"}}
    : (tensor<3xf32>, tensor<2xi64>) -> tensor<5xf32>
  onnx.return %o0, %o1, %o2 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

// -----

// Tests that dropout that drops nothing, identities and casts to the same type vanish.
// CHECK: func.func @forward(%[[X:[^:]*]]:
// CHECK: return %[[X]] :
onnx.graph @main(%i0: tensor<3xf32>) -> (tensor<3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %ratio = onnx.initializer @ratio {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %training = onnx.initializer @training {value = dense<true> : tensor<i1>} : tensor<i1>
  %a = onnx.node "Dropout"(%i0, %ratio, %training) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<f32>, tensor<i1>) -> tensor<3xf32>
  %b = onnx.node "Identity"(%a) {since_version = 21 : i64}
    : (tensor<3xf32>) -> tensor<3xf32>
  %o0 = onnx.node "Cast"(%b) {since_version = 21 : i64, node_attributes = {to = 1 : i64}}
    : (tensor<3xf32>) -> tensor<3xf32>
  onnx.return %o0 : tensor<3xf32>
}

// -----

// Tests that Tile repeats whole dims.
// CHECK: train.broadcast %{{.*}} {dims = array<i64: 1, 3>} : (tensor<2x3xf32>) -> tensor<2x2x1x3xf32>
// CHECK: train.reshape %{{.*}} -> tensor<4x3xf32>
onnx.graph @main(%i0: tensor<2x3xf32>) -> (tensor<4x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %repeats = onnx.initializer @repeats {value = dense<[2, 1]> : tensor<2xi64>} : tensor<2xi64>
  %o0 = onnx.node "Tile"(%i0, %repeats) {since_version = 13 : i64}
    : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  onnx.return %o0 : tensor<4x3xf32>
}
