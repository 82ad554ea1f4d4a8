// RUN: zc-opt %s --zc-convert-onnx-to-train=dropout=0 | FileCheck %s

// Tests that with dropout off a node that drops is an identity, and its mask is true.
// CHECK: func.func @forward(%[[X:[^:]*]]:
// CHECK: %[[MASK:.*]] = train.constant dense<true>
// CHECK: return %[[X]], %[[MASK]]
onnx.graph @main(%i0: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>)
    attributes {input_names = ["i0"], output_names = ["o0", "o1"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %ratio = onnx.initializer @ratio {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %training = onnx.initializer @training {value = dense<true> : tensor<i1>} : tensor<i1>
  %o:2 = onnx.node "Dropout"(%i0, %ratio, %training) {since_version = 13 : i64}
    : (tensor<3xf32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xi1>)
  onnx.return %o#0, %o#1 : tensor<3xf32>, tensor<3xi1>
}
