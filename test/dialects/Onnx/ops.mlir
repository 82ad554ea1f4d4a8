// RUN: zc-opt %s | zc-opt | FileCheck %s

// Tests that a whole graph reads back as it was printed.
// CHECK-LABEL: onnx.graph @main(%x: tensor<4x8xf32>, %{{.*}}: tensor<4xi64>)
// CHECK-SAME: -> (tensor<4x2xf32>, tensor<4xi64>)
// CHECK-SAME: input_names = ["x", "a b"]
onnx.graph @main(%x: tensor<4x8xf32>, %1: tensor<4xi64>)
    -> (tensor<4x2xf32>, tensor<4xi64>)
    attributes {input_names = ["x", "a b"], output_names = ["y", "z"],
                opset_imports = {ai.onnx = 20 : i64},
                batch_dims = array<i64: 0, 0>,
                output_batch_dims = array<i64: 0, -1>} {
  // CHECK: %[[W:.*]] = onnx.initializer @fc.weight {kind = "PARAMETER",
  // CHECK-SAME: source = #onnx.external<"model.onnx.data", 64, 64>, trained = true}
  %w = onnx.initializer @"fc.weight" {
      kind = "PARAMETER", trained = true,
      source = #onnx.external<"model.onnx.data", 64, 64>} : tensor<2x8xf32>
  // CHECK: onnx.initializer @mask {folded, value = dense<true> : tensor<1x8xi1>}
  %m = onnx.initializer @mask {folded, value = dense<true> : tensor<1x8xi1>}
      : tensor<1x8xi1>
  // Without value and source something must initialise it.
  // CHECK: onnx.initializer @later {aliases = ["too"]} : tensor<2xf32>
  %b = onnx.initializer @later {aliases = ["too"]} : tensor<2xf32>
  // CHECK: %[[NONE:.*]] = onnx.none : none
  %none = onnx.none : none
  // CHECK: onnx.node "Clip"(%x, %[[NONE]], %{{.*}}) {since_version = 13 : i64}
  %s = onnx.initializer @s {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %c = onnx.node "Clip"(%x, %none, %s) {since_version = 13 : i64}
      : (tensor<4x8xf32>, none, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: onnx.node "Gemm"(%{{.*}}, %[[W]], %{{.*}}) {node_attributes = {transB = 1 : i64}, since_version = 13 : i64}
  %y = onnx.node "Gemm"(%c, %w, %b)
      {since_version = 13 : i64, node_attributes = {transB = 1 : i64}}
      : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  // A result in the middle may be absent.
  // CHECK: onnx.node "Odd"(%{{.*}}) {domain = "com.acme", since_version = 1 : i64}
  // CHECK-SAME: -> (none, tensor<4xi64>)
  %z:2 = onnx.node "Odd"(%1) {domain = "com.acme", since_version = 1 : i64}
      : (tensor<4xi64>) -> (none, tensor<4xi64>)
  // CHECK: onnx.return %{{.*}}, %{{.*}} : tensor<4x2xf32>, tensor<4xi64>
  onnx.return %y, %z#1 : tensor<4x2xf32>, tensor<4xi64>
}
