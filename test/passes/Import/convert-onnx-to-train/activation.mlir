// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that an activation with an op of its own is that op.
// CHECK: train.relu
// CHECK: train.sigmoid
// CHECK: train.tanh
// CHECK: train.gelu %{{.*}} {tanh}
// CHECK: train.gelu %{{[^{]*}} :
// CHECK: train.softmax %{{.*}} {dim = 1 : i64}
onnx.graph @main(%i0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1", "o2", "o3", "o4", "o5"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Relu"(%i0) {since_version = 14 : i64}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %o1 = onnx.node "Sigmoid"(%i0) {since_version = 13 : i64}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %o2 = onnx.node "Tanh"(%i0) {since_version = 13 : i64}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %o3 = onnx.node "Gelu"(%i0) {since_version = 20 : i64, node_attributes = {approximate = "tanh"}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %o4 = onnx.node "Gelu"(%i0) {since_version = 20 : i64}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %o5 = onnx.node "Softmax"(%i0) {since_version = 13 : i64}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.return %o0, %o1, %o2, %o3, %o4, %o5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Tests that a float attribute is the number that its author wrote.
// CHECK: train.constant dense<1.000000e-01> : tensor<2xf64>
// CHECK: %[[LINE:.*]] = train.mul
// CHECK: %[[POSITIVE:.*]] = train.compare "gt" %[[X:[^ ,]*]],
// CHECK: train.select %[[POSITIVE]], %[[X]], %[[LINE]]
onnx.graph @main(%i0: tensor<2xf64>) -> (tensor<2xf64>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "LeakyRelu"(%i0) {since_version = 16 : i64, node_attributes = {alpha = 1.000000e-01 : f32}}
    : (tensor<2xf64>) -> tensor<2xf64>
  onnx.return %o0 : tensor<2xf64>
}

// -----

// Tests that Clip takes bounds from operands, either of which may be absent.
// CHECK: %[[HIGH:.*]] = train.constant dense<6.000000e+00> : tensor<3xf32>
// CHECK: %[[ABOVE:.*]] = train.compare "gt" %[[X:.*]], %[[HIGH]]
// CHECK-NEXT: train.select %[[ABOVE]], %[[HIGH]], %[[X]]
// CHECK-NEXT: return
onnx.graph @main(%i0: tensor<3xf32>) -> (tensor<3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %none = onnx.none : none
  %six = onnx.initializer @six {value = dense<6.0> : tensor<f32>} : tensor<f32>
  %o0 = onnx.node "Clip"(%i0, %none, %six) {since_version = 13 : i64}
    : (tensor<3xf32>, none, tensor<f32>) -> tensor<3xf32>
  onnx.return %o0 : tensor<3xf32>
}

// -----

// Tests that the exponential of Elu never sees a positive number.
// CHECK: %[[POSITIVE:.*]] = train.compare "gt" %[[X:[^ ,]*]],
// CHECK: %[[SAFE:.*]] = train.select %[[POSITIVE]], %{{.*}}, %[[X]]
// CHECK: train.expm1 %[[SAFE]]
// CHECK: train.select %[[POSITIVE]], %[[X]]
onnx.graph @main(%i0: tensor<3xf32>) -> (tensor<3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Elu"(%i0) {since_version = 6 : i64}
    : (tensor<3xf32>) -> tensor<3xf32>
  onnx.return %o0 : tensor<3xf32>
}

// -----

// Tests that LogSoftmax subtracts the maximum first.
// CHECK: %[[MAX:.*]] = train.reduce "max" %[[X:[^ ,]*]] {dims = array<i64: 0>}
// CHECK: %[[SHIFTED:.*]] = train.sub %[[X]]
// CHECK: %[[EXP:.*]] = train.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = train.reduce "sum" %[[EXP]]
// CHECK: train.log
// CHECK: train.sub %[[SHIFTED]]
onnx.graph @main(%i0: tensor<2x3xf32>) -> (tensor<2x3xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "LogSoftmax"(%i0) {since_version = 13 : i64, node_attributes = {axis = 0 : i64}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.return %o0 : tensor<2x3xf32>
}

// -----

// Tests that Softmax before opset 13 runs over all dims from the axis on.
// CHECK: train.reshape %{{.*}} -> tensor<2x12xf32>
// CHECK: train.softmax %{{.*}} {dim = 1 : i64}
// CHECK: train.reshape %{{.*}} -> tensor<2x3x4xf32>
onnx.graph @main(%i0: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>)
    attributes {input_names = ["i0"], output_names = ["o0"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %o0 = onnx.node "Softmax"(%i0) {since_version = 11 : i64}
    : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  onnx.return %o0 : tensor<2x3x4xf32>
}

// -----

// Tests that SiLU is one op, also as it is exported: in both orders, but not
// where the sigmoid is of something else.
// CHECK: train.swish %{{.*}} {alpha = 1.000000e+00 : f64}
// CHECK: train.swish %{{.*}} {alpha = 1.000000e+00 : f64}
// CHECK: train.swish %{{.*}} {alpha = 1.500000e+00 : f64}
// CHECK-NOT: train.swish
onnx.graph @main(%i0: tensor<3xf32>, %i1: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    attributes {input_names = ["i0", "i1"], output_names = ["o0", "o1", "o2", "o3"], opset_imports = {"ai.onnx" = 24 : i64}} {
  %s = onnx.node "Sigmoid"(%i0) {since_version = 13 : i64}
    : (tensor<3xf32>) -> tensor<3xf32>
  %o0 = onnx.node "Mul"(%i0, %s) {since_version = 14 : i64}
    : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %o1 = onnx.node "Mul"(%s, %i0) {since_version = 14 : i64}
    : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %o2 = onnx.node "Swish"(%i0) {since_version = 24 : i64, node_attributes = {alpha = 1.5 : f32}}
    : (tensor<3xf32>) -> tensor<3xf32>
  %o3 = onnx.node "Mul"(%i1, %s) {since_version = 14 : i64}
    : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  onnx.return %o0, %o1, %o2, %o3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
