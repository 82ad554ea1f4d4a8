// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests operands and attributes that every lowering reads alike.
onnx.graph @main(%x0: tensor<2x3xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<2x3xf32>, tensor<1x3xf32>)
    attributes {input_names = ["x0"], output_names = ["o0", "o1", "o2", "o3"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %c0 = onnx.initializer @c0 {source = #onnx.external<"m.data", 0, 8>} : tensor<1xi64>
  %c1 = onnx.initializer @c1 {value = dense<1.0> : tensor<1xf32>} : tensor<1xf32>
  %c2 = onnx.initializer @c2 {value = dense<1> : tensor<2xi64>} : tensor<2xi64>
  // expected-error @+1 {{node (ReduceSum): expected input 1 ('axes') to be a constant, found an initializer stored outside the model}}
  %o0 = onnx.node "ReduceSum"(%x0, %c0) {since_version = 13 : i64}
    : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<1x1xf32>
  // expected-error @+1 {{node (ReduceSum): expected input 1 ('axes') to hold integers, found 'tensor<1xf32>'}}
  %o1 = onnx.node "ReduceSum"(%x0, %c1) {since_version = 13 : i64}
    : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  // expected-error @+1 {{node (Trilu): expected input 1 ('k') to hold one element, found 'tensor<2xi64>'}}
  %o2 = onnx.node "Trilu"(%x0, %c2) {since_version = 14 : i64}
    : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  // expected-error @+1 {{node (ReduceMax): names axis -2 twice}}
  %o3 = onnx.node "ReduceMax"(%x0) {since_version = 13 : i64, node_attributes = {axes = array<i64: 0, -2>}}
    : (tensor<2x3xf32>) -> tensor<1x3xf32>
  onnx.return %o0, %o1, %o2, %o3 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<2x3xf32>, tensor<1x3xf32>
}
