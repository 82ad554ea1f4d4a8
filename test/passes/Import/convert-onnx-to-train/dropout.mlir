// RUN: zc-opt %s --zc-convert-onnx-to-train --split-input-file | FileCheck %s

// Tests that a node that drops in training keeps its ratio, half without one.
// CHECK: %[[A:.*]] = train.dropout %{{.*}} {ratio = 1.250000e-01 : f64} : (tensor<3xf32>) -> tensor<3xf32>
// CHECK: train.dropout %[[A]] {ratio = 5.000000e-01 : f64}
onnx.graph @main(%x: tensor<3xf32>) -> (tensor<3xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %ratio = onnx.initializer @ratio {value = dense<0.125> : tensor<f32>} : tensor<f32>
  %training = onnx.initializer @training {value = dense<true> : tensor<i1>} : tensor<i1>
  %none = onnx.none : none
  %0 = onnx.node "Dropout"(%x, %ratio, %training) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<f32>, tensor<i1>) -> tensor<3xf32>
  %1 = onnx.node "Dropout"(%0, %none, %training) {since_version = 13 : i64}
    : (tensor<3xf32>, none, tensor<i1>) -> tensor<3xf32>
  onnx.return %1 : tensor<3xf32>
}

// -----

// Tests that a node without a training_mode drops nothing, but for one of which
// PyTorch's call says that it did.
// CHECK-NOT: train.dropout
// CHECK: train.dropout %{{.*}} {ratio = 2.500000e-01 : f64}
// CHECK-NOT: train.dropout
// CHECK: return
onnx.graph @main(%x: tensor<3xf32>) -> (tensor<3xf32>)
    attributes {input_names = ["x"], output_names = ["y"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %ratio = onnx.initializer @ratio {value = dense<0.25> : tensor<f32>} : tensor<f32>
  %0 = onnx.node "Dropout"(%x, %ratio) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = onnx.node "Dropout"(%0, %ratio) {since_version = 13 : i64, node_attributes = {torch.dropout_p = 0.25 : f64}}
    : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  onnx.return %1 : tensor<3xf32>
}

// -----

// Tests that the mask is that of the elements.
// CHECK: %[[ONES:.*]] = train.constant dense<1.0
// CHECK: %[[DRAWN:.*]] = train.dropout %[[ONES]]
// CHECK: %[[Y:.*]] = train.mul %{{.*}}, %[[DRAWN]]
// CHECK: %[[MASK:.*]] = train.compare "ne" %[[DRAWN]]
// CHECK: return %[[Y]], %[[MASK]]
onnx.graph @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>)
    attributes {input_names = ["x"], output_names = ["y", "mask"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %ratio = onnx.initializer @ratio {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %training = onnx.initializer @training {value = dense<true> : tensor<i1>} : tensor<i1>
  %0:2 = onnx.node "Dropout"(%x, %ratio, %training) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xi1>)
  onnx.return %0#0, %0#1 : tensor<3xf32>, tensor<3xi1>
}
