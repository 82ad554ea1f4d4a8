// RUN: zc-opt %s --zc-convert-onnx-to-train --verify-diagnostics

// Tests axes that are no dims, or not known.
onnx.graph @main(%x0: tensor<2x4xf32>, %x1: tensor<i64>) -> (tensor<2x4xi64>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    attributes {input_names = ["x0", "x1"], output_names = ["o0", "o1", "o2", "o3"], opset_imports = {"ai.onnx" = 22 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<-3> : tensor<i64>} : tensor<i64>
  %c1 = onnx.initializer @c1 {value = dense<5> : tensor<1xi64>} : tensor<1xi64>
  // expected-error @+1 {{node (ArgMax): axis 2 is no dim of a tensor of 2 dims}}
  %o0 = onnx.node "ArgMax"(%x0) {since_version = 13 : i64, node_attributes = {axis = 2 : i64}}
    : (tensor<2x4xf32>) -> tensor<2x4xi64>
  // expected-error @+1 {{node (CumSum): axis -3 is no dim of a tensor of 2 dims}}
  %o1 = onnx.node "CumSum"(%x0, %c0) {since_version = 14 : i64}
    : (tensor<2x4xf32>, tensor<i64>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (CumSum): expected input 1 ('axis') to be a constant, found a value computed at run time}}
  %o2 = onnx.node "CumSum"(%x0, %x1) {since_version = 14 : i64}
    : (tensor<2x4xf32>, tensor<i64>) -> tensor<2x4xf32>
  // expected-error @+1 {{node (ReduceLogSumExp): axis 5 is no dim of a tensor of 2 dims}}
  %o3 = onnx.node "ReduceLogSumExp"(%x0, %c1) {since_version = 18 : i64}
    : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
  onnx.return %o0, %o1, %o2, %o3 : tensor<2x4xi64>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
